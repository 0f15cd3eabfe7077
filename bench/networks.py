#!/usr/bin/env python3
"""fp32 latency of networks: Saccade beside ONNX Runtime and LiteRT, in one run, interleaved.

    bench/networks.py [--models lraspp_mnv3,selfie_segmentation] [--threads 1,2] [--rounds 7] [--json FILE]

Prepared by bench/setup-peers and the preset `release`. For a model and a number of threads, every contender is one process that
has loaded the model; round after round each runs a short burst, in turn and in alternating order, while the others wait. So a
machine that slows down for a while slows all of them. The ratio is the median over rounds of (our burst's median / the peer's).
"""
import argparse
import pathlib
import sys
import tempfile
import time

import measure
from peers import Contender

MODELS = ["lraspp_mnv3.onnx", "dlv3_mnv3.onnx", "dlv3_r50.onnx", "unet64.onnx", "u2netp.onnx",
          "selfie_segmentation.tflite", "selfie_segmentation_landscape.tflite"]
BURST_SECONDS = 0.25
MOST_RUNS = 50


def contenders(model, threads, args, logs):
    peer = "litert" if model.suffix == ".tflite" else "onnxruntime"
    here = pathlib.Path(__file__).parent
    return [
        Contender("saccade", [args.resident, model, threads], logs / f"{model.stem}.{threads}.saccade.log"),
        Contender(peer, [args.python, here / "peers.py", peer, model, threads], logs / f"{model.stem}.{threads}.{peer}.log"),
    ]


def measure_model(model, threads, args, logs):
    running = contenders(model, threads, args, logs)
    try:
        runs = {}
        for contender in running:  # warm up, and find how many runs make a burst
            contender.burst(1)
            one = contender.burst(1)[0] / 1e3
            runs[contender.name] = max(1, min(MOST_RUNS, round(BURST_SECONDS / one)))
        samples = {contender.name: [] for contender in running}
        rounds = {contender.name: [] for contender in running}
        for number in range(args.rounds):
            for contender in running if number % 2 == 0 else reversed(running):
                time.sleep(0.02)  # the other's threads may still be spinning
                if runs[contender.name] > 2:
                    contender.burst(1)  # caches hold the other contender's data
                times = contender.burst(runs[contender.name])
                samples[contender.name] += times
                rounds[contender.name].append(measure.median(times))
        ours, peer = running[0].name, running[1].name
        ratios = [a / b for a, b in zip(rounds[ours], rounds[peer])]
        return {
            "model": model.name,
            "threads": threads,
            "peer": peer,
            "peer_version": running[1].info["version"],
            "contenders": {name: {"median_ms": measure.median(times), "quartiles_ms": measure.spread(times),
                                  "least_ms": min(times), "runs": len(times)} for name, times in samples.items()},
            "ratio": measure.median(ratios),
            "ratio_range": [min(ratios), max(ratios)],
        }
    finally:
        for contender in running:
            contender.close()


def row(result):
    def cell(name):
        times = result["contenders"][name]
        low, high = times["quartiles_ms"]
        return f"{times['median_ms']:.2f} ({low:.2f}-{high:.2f})"

    least, most = result["ratio_range"]
    return [result["model"], result["threads"], cell("saccade"), f"{result['peer']} {result['peer_version']}",
            cell(result["peer"]), f"{result['ratio']:.2f} ({least:.2f}-{most:.2f})"]


def main():
    root = measure.ROOT
    parser = argparse.ArgumentParser(description="Latency of networks, Saccade beside its peers, interleaved.")
    parser.add_argument("--models", default="", help="comma-separated stems or paths; all by default")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build/models", help="where the models lie")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", default=root / "build/peers/bin/python", help="a Python that has the peers")
    parser.add_argument("--resident", default=root / "build/release/bin/bench_resident", help="Saccade's contender")
    parser.add_argument("--json", type=pathlib.Path, default=root / "build/bench/networks.json")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")

    models = [args.folder / name for name in MODELS]
    if args.models:
        by_stem = {model.stem: model for model in models}
        models = [by_stem.get(name, pathlib.Path(name)) for name in args.models.split(",")]
    missing = [str(model) for model in models if not model.is_file()]
    if missing:
        sys.exit(f"networks: no such file: {', '.join(missing)}; run bench/setup-peers")

    about = measure.machine()
    print(measure.describe(about), flush=True)
    results = []
    with tempfile.TemporaryDirectory() as logs:
        for model in models:
            for threads in map(int, args.threads.split(",")):
                result = measure_model(model, threads, args, pathlib.Path(logs))
                results.append(result)
                print("  ".join(str(cell) for cell in row(result)), file=sys.stderr, flush=True)
    print()
    print(measure.markdown(["model", "threads", "Saccade, ms", "peer", "peer, ms", "ratio"], [row(r) for r in results]))
    measure.write_json(args.json, {"machine": about, "rounds": args.rounds, "results": results})
    print(f"\n{args.json}")


if __name__ == "__main__":
    main()
