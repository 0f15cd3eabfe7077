#!/usr/bin/env python3
"""Latency of networks: Saccade beside its peers, interleaved in one run, on the same inputs and numbers of threads.

    bench/peers/run.py [--networks selfie,unet64] [--threads 1,2] [--classes fp32,bf16,int8] [--rounds 7] [--json FILE]

Prepared by bench/peers/setup and the preset `release`. For a network, a number of threads and a class of precision every contender
is one process that has loaded the network; round after round each runs a short burst, in turn and in alternating order, while the
others are stopped. So a machine that slows down for a while slows all of them. The ratio of a peer is the median over rounds of
(its burst's median / our burst's median): above 1, Saccade is faster.

An engine's configurations (configurations.py) all start; those that are clearly slower than its best one in the warm-up take no
part in the rounds. A contender that cannot load or run the network is a row with its reason.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import configurations
import measure
import networks
import report
from contender import Contender, ContenderError

HERE = pathlib.Path(__file__).resolve().parent
BURST_SECONDS = 0.25
MOST_RUNS = 50
SET_ASIDE = 1.3  # times an engine's fastest configuration
WARM_UP_SECONDS = 0.3
OURS = "saccade"


class Entry:
    """A contender's place in a group: what is known of it, and its process while it runs."""

    def __init__(self, engine, kind, setting, command=None, environment=None, reason=None):
        self.engine, self.kind, self.setting = engine, kind, setting
        self.command, self.environment = command, environment
        self.reason = reason  # why it has no figures
        self.process = None
        self.samples, self.rounds = [], []
        self.facts = {}

    @property
    def name(self):
        return f"{self.engine}/{self.kind}/{self.setting}"

    def fail(self, error):
        self.reason = str(error)
        if self.process:
            self.process.kill()
            self.process = None

    def result(self):
        entry = {"engine": self.engine, "class": self.kind, "setting": self.setting, **self.facts}
        if self.reason:
            entry["reason"] = self.reason
        if self.samples:
            low, high = measure.spread(self.samples)
            entry.update(median_ms=measure.median(self.samples), quartiles_ms=[low, high], least_ms=min(self.samples),
                         runs=len(self.samples), rounds_ms=self.rounds)
        return entry


class Group:
    """All contenders on one network with one number of threads in one class of precision."""

    def __init__(self, network, threads, kind, args, scratch, inputs):
        self.network, self.threads, self.kind = network, threads, kind
        self.args, self.scratch, self.inputs = args, scratch, inputs
        self.entries = [self.ours()] + self.peers()

    def ours(self):
        # A network that was quantised is a file of its own, unless there is only the other: then we are to quantise.
        file = self.network.file(self.args.folder, "saccade")
        quantised = self.network.file(self.args.folder, "int8") if self.kind == "int8" else None
        precision = self.kind
        if quantised and quantised.is_file():
            file, precision = quantised, "fp32"
        order = "nhwc" if file.suffix == ".tflite" else "nchw"
        command = [self.args.resident, file, self.threads, "--precision", precision, "--input", self.inputs[order][0]]
        if precision in ("int8", "auto") and self.inputs.get("calibration"):
            command += ["--calibration", self.inputs["calibration"]]
        return Entry(OURS, self.kind, "default", command, dict(os.environ, **self.cap_of({"SACCADE_MAX_ISA": self.args.cap})))

    def cap_of(self, environment):
        return environment if self.args.cap else {}

    def peers(self):
        entries = []
        for engine in self.args.engines:
            settings = [c for c in configurations.CONFIGURATIONS
                        if c.engine == engine and (c.kind == self.kind or self.kind == "auto")]
            if not settings and (engine, self.kind) in configurations.LACKING:
                entries.append(Entry(engine, self.kind, "-", reason=configurations.LACKING[engine, self.kind]))
            entries += [self.peer(c) for c in settings]
        return entries

    def peer(self, c):
        file = self.network.file(self.args.folder, c.model)
        entry = Entry(c.engine, c.kind, c.setting)
        if file is None:
            entry.reason = "the network has no file of the kind it reads" if c.model != "tflite" else "reads TFLite only"
        elif not file.is_file():
            told = file.parent / f"{file.name}.reason"  # by convert.py
            entry.reason = told.read_text().strip() if told.is_file() else f"no {file.name}"
        elif self.args.cap and self.args.host_exceeds_cap and c.cap is None:
            entry.reason = f"cannot be kept to {self.args.cap}"
        else:
            path, shape = self.inputs["nhwc" if c.model == "tflite" else "nchw"]
            entry.command = [self.args.python, HERE / "serve.py", c.name, file, self.threads, path, shape]
            cache = {"TORCHINDUCTOR_CACHE_DIR": str(pathlib.Path(self.args.python).parent.parent / "inductor")}  # not in /tmp
            entry.environment = dict(os.environ, **cache, **self.cap_of(c.cap or {}))
        return entry

    def running(self):
        return [entry for entry in self.entries if entry.process]

    def start(self):
        for entry in self.entries:
            if entry.reason:
                continue
            log = self.scratch / f"{self.network.name}.{self.threads}.{entry.name.replace('/', '.')}.log"
            try:
                entry.process = Contender(entry.name, entry.command, log, entry.environment)
            except ContenderError as error:
                entry.fail(error)
                continue
            entry.facts.update({key: value for key, value in entry.process.info.items() if key not in ("ready", "configuration")})
            if self.args.cap and (beyond := kernels_beyond(entry.facts)):
                entry.fail(f"was not kept to {self.args.cap}: it ran {beyond}")

    def each(self, action, order=None):
        for entry in order or self.running():
            try:
                if entry.process:
                    action(entry)
            except ContenderError as error:
                entry.fail(error)

    def burst(self, entry, runs):
        return entry.process.burst(runs, "cpu_ms" if self.args.clock == "cpu" else "ms")

    def warm_up(self):
        def action(entry):
            time.sleep(0.02)
            first = self.burst(entry, 1)[0] / 1e3
            times = self.burst(entry, max(1, min(MOST_RUNS, round(self.args.warm_up / max(first, 1e-6)))))
            entry.facts["warm_up_ms"] = min(times)
            entry.burst = max(1, min(MOST_RUNS, round(self.args.burst * 1e3 / max(entry.facts["warm_up_ms"], 1e-3))))

        self.each(action)
        for entry in self.running():
            fastest = min(other.facts["warm_up_ms"] for other in self.running() if other.engine == entry.engine)
            if entry.facts["warm_up_ms"] > SET_ASIDE * fastest:
                entry.reason = f"set aside: {entry.facts['warm_up_ms']:.3g} ms in the warm-up, {self.engine_name(entry)}'s best {fastest:.3g}"

    def engine_name(self, entry):
        return configurations.ENGINES.get(entry.engine, "Saccade")

    def compare_outputs(self, reference):
        """Before the rounds, so that set-aside configurations are compared too."""
        def action(entry):
            path = self.scratch / "outputs.bin"
            described = self.scratch / "outputs.json"
            described.write_text(json.dumps(entry.process.outputs(path)))
            done = subprocess.run([self.args.python, HERE / "agreement.py", *reference, described, path], capture_output=True, text=True)
            if done.returncode == 0:
                entry.facts.update(json.loads(done.stdout))
            else:
                entry.facts["agreement"] = "not comparable: " + (done.stderr.strip().splitlines() or ["?"])[-1]

        if reference:
            self.each(action)

    def round(self, number):
        def action(entry):
            time.sleep(0.02)
            if entry.burst > 2:
                self.burst(entry, 1)  # caches hold the other contender's data
            times = self.burst(entry, entry.burst)
            entry.samples += times
            entry.rounds.append(measure.median(times))

        taking_part = [entry for entry in self.running() if not entry.reason]
        self.each(action, taking_part if number % 2 == 0 else taking_part[::-1])

    def finish(self):
        def action(entry):
            entry.facts["peak_bytes"] = entry.process.quit()
            entry.process = None

        self.each(action)

    def kill(self):
        for entry in self.running():
            entry.process.kill()

    def measure(self, reference):
        try:
            self.start()
            self.warm_up()
            self.compare_outputs(reference)
            for number in range(self.args.rounds):
                self.round(number)
            self.finish()
        finally:
            self.kill()
        return {"network": self.network.name, "title": self.network.title, "threads": self.threads, "class": self.kind,
                "cap": self.args.cap, "clock": self.args.clock, "contenders": [entry.result() for entry in self.entries]}


def kernels_beyond(facts):
    """A kernel of more than AVX2 among those that an engine says it runs; nothing where it does not say."""
    precision = facts.get("precision")
    kernels = precision.get("kernels", []) if isinstance(precision, dict) else []
    return next((name for name in kernels if "avx512" in name or "amx" in name), None)


def make_reference(network, args, scratch, inputs):
    """Outputs of the fp32 network by ONNX Runtime without optimisations: what agreement is measured against."""
    file = network.file(args.folder, "onnx")
    if not args.engines or not file.is_file():
        return None
    path, shape = inputs["nchw"]
    command = [args.python, HERE / "serve.py", configurations.REFERENCE.name, file, args.cpus, path, shape]
    try:
        contender = Contender("reference", command, scratch / f"{network.name}.reference.log")
    except ContenderError as error:
        print(f"{network.name}: no reference: {error}", file=sys.stderr)
        return None
    try:
        described, values = scratch / "reference.json", scratch / "reference.bin"
        described.write_text(json.dumps(contender.outputs(values)))
        return [described, values]
    finally:
        contender.kill()


def host_flags():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()


def default_classes(flags):
    return [kind for kind in configurations.KINDS if kind != "bf16" or flags & {"avx512_bf16", "amx_bf16"}]


def parse_arguments():
    root = measure.ROOT
    parser = argparse.ArgumentParser(description="Latency of networks, Saccade beside its peers, interleaved.")
    parser.add_argument("--networks", default=",".join(n.name for n in networks.BY_DEFAULT),
                        help="comma-separated; by default all but those that are trained first: " + ", ".join(n.name for n in networks.NETWORKS))
    parser.add_argument("--model", type=pathlib.Path, help="a model file instead of the known networks; --shape says its input")
    parser.add_argument("--shape", default="1x3x512x512", help="batch, channels, height and width of --model's input")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--classes", help="of fp32, bf16, int8, auto; by default fp32, int8, and bf16 where the machine has it")
    parser.add_argument("--engines", default=",".join(configurations.ENGINES), help="comma-separated; empty: Saccade alone")
    parser.add_argument("--cap", choices=["avx2"], help="keep Saccade and the peers to this instruction set")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="cpu: what a contender's threads worked; for one thread on a machine that is not idle")
    parser.add_argument("--burst", type=float, default=BURST_SECONDS, help="seconds of a contender's turn in a round")
    parser.add_argument("--warm-up", type=float, default=WARM_UP_SECONDS, help="seconds of a contender's warm-up")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build/models", help="where the models lie")
    parser.add_argument("--python", default=root / "build/peers/bin/python", help="a Python that has the peers")
    parser.add_argument("--resident", default=root / "build/release/bin/bench_resident", help="Saccade's contender")
    parser.add_argument("--saccade", default=measure.SACCADE, help="the program, for the machine's description")
    parser.add_argument("--json", type=pathlib.Path, default=root / "build/bench/peers.json")
    parser.add_argument("--append", action="store_true", help="keep the results of other runs that FILE holds")
    parser.add_argument("--table", action="store_true", help="only print the tables of FILE")
    args = parser.parse_args()
    flags = host_flags()
    args.host_exceeds_cap = args.cap == "avx2" and "avx512f" in flags
    args.cpus = len(os.sched_getaffinity(0))
    args.engines = [name for name in args.engines.split(",") if name]
    args.classes = args.classes.split(",") if args.classes else default_classes(flags)
    args.threads = [int(number) for number in args.threads.split(",")]
    if args.clock == "cpu" and args.threads != [1]:
        parser.error("--clock cpu says nothing about several threads: they may work while they wait; use --threads 1")
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    for name in args.engines:
        if name not in configurations.ENGINES:
            parser.error(f"unknown engine {name}; known: {', '.join(configurations.ENGINES)}")
    for kind in args.classes:
        if kind not in (*configurations.KINDS, "auto"):
            parser.error(f"unknown class {kind}; known: {', '.join(configurations.KINDS)}, auto")
    try:
        args.networks = [users_network(args)] if args.model else networks.by_name(args.networks.split(","))
    except ValueError as error:
        parser.error(str(error))
    return args


def users_network(args):
    shape = tuple(int(d) for d in args.shape.split("x"))
    if len(shape) != 4:
        raise ValueError(f"--shape {args.shape}: expected batch, channels, height and width, such as 1x3x512x512")
    path = args.model.resolve()
    content = "picture" if shape[1] == 3 else "logits"
    return networks.Network(path.stem, path.name, shape, content, str(path) if path.suffix == ".tflite" else None, onnx=str(path))


def main():
    args = parse_arguments()
    if args.table:
        report.print_tables(json.loads(args.json.read_text()))
        return
    ours = {network.file(args.folder, "saccade") for network in args.networks}
    if missing := [str(file) for file in ours if not file.is_file()]:
        sys.exit(f"run.py: no such file: {', '.join(missing)}; run bench/peers/setup")
    about = measure.machine(args.saccade)
    print(measure.describe(about) + (f", kept to {args.cap}" if args.cap else ""), flush=True)
    results = json.loads(args.json.read_text())["results"] if args.append and args.json.is_file() else []
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for network in args.networks:
            inputs = networks.write_input(network, scratch, args.folder / (network.picture or networks.PORTRAIT))
            inputs["calibration"] = networks.write_calibration(network, scratch, args.folder)
            reference = make_reference(network, args, scratch, inputs)
            for threads in args.threads:
                for kind in args.classes:
                    group = {"measured": about, "rounds": args.rounds, **Group(network, threads, kind, args, scratch, inputs).measure(reference)}
                    same = [report.key(group) == report.key(other) for other in results]
                    results = [other for other, drop in zip(results, same) if not drop] + [group]
                    measure.write_json(args.json, {"machine": about, "results": results})
                    print(report.line(group), file=sys.stderr, flush=True)
    report.print_tables({"results": results})
    print(f"\n{args.json}")


if __name__ == "__main__":
    main()
