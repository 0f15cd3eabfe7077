#!/usr/bin/env python3
"""What `saccade optimize` finds beside everything that it could have found.

    bench/optimize.py [--model selfie] [--clip FILE] [--budget 60] [--seconds 50] [--json FILE]

First the search, within its budget, five times (--searches). Then a grid over the settings it searches, each on the same frames; then
the best of the grid, what the first search found and the default, in turn, --final times: the ratio is that of what was found to the
fastest of them. What each of the searches found runs in turn with the default, too, unless it is the default. Last, files with settings
that are planted badly (one thread, all threads on one frame, one frame under way, one thread for the encoder): the search begins with
each, and what it finds must be faster than that. One run differs from the next by several per cent: medians are compared.

A machine that is shared is not there all the time: with --seconds the script stops after about so many and says so; called again it goes
on, from what it has written into its JSON file, until it says that it is done.
"""
import argparse
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import measure
import video

BAD = {"threads": ["threads: 1"], "mode": ["mode: latency"], "tokens": ["tokens: 1"], "encoder": ["encoder-threads: 1"],
       "all of them": ["threads: 1", "mode: latency", "tokens: 1", "encoder-threads: 1"]}


def grid_of(cpus, precision):
    """The product of what is searched one after the other: `tune/knobs`."""
    axes = {
        "mode": ["auto", "latency"],
        "tokens": [0, cpus + 1, 2 * cpus + 2, 4 * cpus + 2],
        "decoder-threads": [1, max(2, cpus // 2)],
        "encoder-threads": sorted({0, 1, cpus, cpus + 1, 2 * cpus}),
        "precision": ["fp32", "auto"] if precision else ["fp32"],
    }
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def arguments_of(settings):
    return [text for name, value in settings.items() if value != 0 for text in (f"--{name}", str(value))]  # 0: not said


def median_ratio(rates, name):
    return measure.median(rates["found"]) / measure.median(rates[name])


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.until = time.monotonic() + args.seconds
        self.state = {"grid": {}, "final": {}}
        if args.json.is_file():
            self.state = json.loads(args.json.read_text())

    def keep(self):
        measure.write_json(self.args.json, self.state)
        if time.monotonic() > self.until:
            raise TimeoutError

    def job(self):
        return [self.args.clip, "--model", self.args.model, "--effect", "blur"]

    def fps(self, settings=(), config=None, frames=None):
        command = [self.args.saccade, "run", *self.job(), "-o", self.folder / "out.mp4", "--overwrite", "--json", "--progress", "none",
                   "--frames", frames or self.args.frames, *settings]
        if config:
            command += ["--config", config]
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["fps"]

    def optimize(self, name, config=None):
        """The file that a search writes, and the seconds that it took."""
        if name not in self.state:
            target = self.folder / "found.yaml"
            command = [self.args.saccade, "optimize", *self.job(), "-o", target, "--overwrite", "--json", "--progress", "none",
                       "--tuning-budget", self.args.budget]
            if config:
                command += ["--config", config]
            start = time.monotonic()
            done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
            self.state[name] = {"file": target.read_text(), "seconds": time.monotonic() - start, "report": json.loads(done.stdout)}
            self.keep()
        path = self.folder / f"{name}.yaml"
        path.write_text(self.state[name]["file"])
        return path

    def in_turn(self, key, contenders, runs, frames):
        """Frames a second of each, `runs` times, each round beginning with another one."""
        rates = self.state.setdefault(key, {})
        while (turn := min(len(rates.get(name, [])) for name in contenders)) < runs:
            names = list(contenders)[turn % len(contenders):] + list(contenders)[:turn % len(contenders)]
            for name in names:
                if len(rates.get(name, [])) == turn:
                    settings, config = contenders[name]
                    rates.setdefault(name, []).append(self.fps(settings, config, frames))
                    self.keep()

    def run(self):
        found = self.optimize("search 0")
        for k in range(self.args.searches):
            again = self.optimize(f"search {k}")
            if self.state[f"search {k}"]["report"]["best"]:
                self.in_turn(f"repeat {k}", {"found": ([], again), "default": ([], None)}, self.args.final, 2 * self.args.frames)
        cpus = measure.machine(self.args.saccade)["cpus"]
        grid = {json.dumps(each): each for each in grid_of(cpus, self.args.precision)}
        for key, settings in grid.items():
            if key not in self.state["grid"]:
                self.state["grid"][key] = self.fps(arguments_of(settings))
                self.keep()
        best = sorted(self.state["grid"], key=self.state["grid"].get, reverse=True)[:self.args.finalists]
        self.in_turn("final", {"found": ([], found), "default": ([], None), **{key: (arguments_of(grid[key]), None) for key in best}},
                     self.args.final, 2 * self.args.frames)
        for name, lines in BAD.items():
            bad = self.folder / f"bad-{name}.yaml"
            bad.write_text("\n".join(lines) + "\n")
            better = self.optimize(f"search from bad {name}", bad)
            self.in_turn(f"bad {name}", {"bad": ([], bad), "found": ([], better)}, self.args.final, self.args.frames)

    def report(self):
        final = {name: measure.median(values) for name, values in self.state["final"].items()}
        best = max((name for name in final if name not in ("found", "default")), key=final.get)
        rows = [[name, f"{value:.1f}", " ".join(f"{each:.1f}" for each in self.state["final"][name])] for name, value in final.items()]
        print(measure.markdown(["settings", "fps, median", "each"], rows))
        search = self.state["search 0"]
        print(f"\nfound: {search['report']['best'] or 'the default'} in {search['seconds']:.1f} s of {self.args.budget:g}; "
              f"{final['found'] / max(final[best], final['default'], final['found']):.3f} of the best of {len(self.state['grid'])} ({best})")
        for k in range(self.args.searches):
            search, rates = self.state[f"search {k}"], self.state.get(f"repeat {k}")
            beside = f"{median_ratio(rates, 'default'):.3f} of the default's speed" if rates else "the default itself"
            print(f"search {k}: {search['report']['best'] or 'nothing faster'}, {search['seconds']:.1f} s: {beside}")
        for name in BAD:
            rates, search = self.state[f"bad {name}"], self.state[f"search from bad {name}"]
            wins = sum(a > b for a, b in zip(rates["found"], rates["bad"]))
            print(f"planted {', '.join(BAD[name])}: {median_ratio(rates, 'bad'):.2f} times as fast ({wins} of {len(rates['bad'])} pairs of runs), "
                  f"{search['seconds']:.1f} s, {search['report']['best']}")
        print(measure.describe(measure.machine(self.args.saccade)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="selfie")
    parser.add_argument("--clip", type=pathlib.Path)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--frames", type=int, default=60, help="that each run of the grid takes")
    parser.add_argument("--finalists", type=int, default=4)
    parser.add_argument("--final", type=int, default=5, help="runs of each of those that are compared")
    parser.add_argument("--searches", type=int, default=5)
    parser.add_argument("--precision", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--saccade", type=pathlib.Path, default=measure.SACCADE)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    name = re.sub(r"\W+", "_", pathlib.Path(args.model).stem)
    args.json = args.json or measure.ROOT / f"build/bench/optimize-{name}.json"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if args.clip is None:
            args.clip = measure.ROOT / "build/bench/optimize-clip.mp4"
            if not args.clip.is_file():
                args.clip.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(video.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30", "-frames:v", "150", "-vf",
                                            "noise=alls=4:allf=t,format=yuv420p", *video.ENCODER, str(args.clip)), check=True)
        bench = Bench(args, folder)
        try:
            bench.run()
        except TimeoutError:
            print(f"not done yet: {len(bench.state['grid'])} of the grid, {sum(map(len, bench.state['final'].values()))} final runs; call again")
            return 3
        bench.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
