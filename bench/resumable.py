#!/usr/bin/env python3
"""What `--resumable` costs: the main job on a 1080p clip with and without it, in speed and in size.

    bench/resumable.py [--clip FILE] [--seconds 40] [--rounds 3] [--json FILE]

Both in turn, round after round, in alternating order. Wall-clock and CPU time are of the whole process, from start to the finished file;
the parts are as long as they are by default, so a clip of 40 s has four. The first round warms the disk cache and is not counted.
"""
import argparse
import pathlib
import subprocess
import sys

import measure
from video import count_frames, make_clip

MOST = 0.03


def main():
    parser = argparse.ArgumentParser(description="The cost of --resumable in speed and size.")
    parser.add_argument("--clip", type=pathlib.Path, help="the clip to use as it is; default: one made from --source")
    parser.add_argument("--source", type=pathlib.Path, help="the small clip to make one from; default: the fetched sample")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prepare", action="store_true", help="only make the clip")
    parser.add_argument("--saccade", type=pathlib.Path, default=measure.SACCADE)
    parser.add_argument("--extra", default="", help="further options for saccade run")
    parser.add_argument("--folder", type=pathlib.Path, default=measure.ROOT / "build/bench", help="for clips and results")
    parser.add_argument("--json", type=pathlib.Path, default=measure.ROOT / "build/bench/resumable.json")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    clip = args.clip
    if clip is None:
        clip = args.folder / f"clip_{30 * args.seconds}.mp4"
        source = args.source or pathlib.Path(subprocess.run([measure.ROOT / "scripts/fetch-model", "single-face"], check=True,
                                                            capture_output=True, text=True).stdout.split("\n")[-2])
        make_clip(clip, source, 30 * args.seconds)
    if args.prepare:
        return 0
    about = measure.machine(args.saccade)
    print(measure.describe(about), flush=True)
    frames = count_frames(clip)
    kinds = {"plain": [], "resumable": ["--resumable"]}
    wall, cpu, size = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}, {}
    for number in range(-1, args.rounds):
        for kind in list(kinds) if number % 2 else list(reversed(kinds)):
            out = args.folder / f"{kind}.mp4"
            seconds, used, _ = measure.run_counted([args.saccade, "run", clip, "-o", out, "--effect", "blur", "--overwrite", "--quiet",
                                                    *kinds[kind], *args.extra.split()])
            size[kind] = out.stat().st_size
            if count_frames(out) != frames:
                raise SystemExit(f"resumable: {kind} wrote {count_frames(out)} frames of {frames}")
            if number < 0:
                continue
            wall[kind].append(seconds)
            cpu[kind].append(used)
            print(f"round {number + 1}: {kind:<10} {seconds:6.2f} s, {used:6.2f} s of CPU", file=sys.stderr, flush=True)
    rows = [[kind, f"{measure.median(wall[kind]):.2f}", f"{measure.median(cpu[kind]):.2f}", f"{size[kind] / 1e6:.2f}"] for kind in kinds]
    print(measure.markdown(["job", "s (median)", "CPU s (median)", "MB"], rows))
    more = {
        "wall": measure.median([b / a for a, b in zip(wall["plain"], wall["resumable"])]) - 1,
        "cpu": measure.median([b / a for a, b in zip(cpu["plain"], cpu["resumable"])]) - 1,
        "size": size["resumable"] / size["plain"] - 1,
    }
    print("\n--resumable costs " + ", ".join(f"{100 * value:+.1f} % {name}" for name, value in more.items()) +
          f"; at most {100 * MOST:.0f} % are wanted")
    measure.write_json(args.json, {"machine": about, "clip": str(clip), "frames": frames, "wall_seconds": wall, "cpu_seconds": cpu,
                                   "bytes": size, "more": more})
    return 1 if max(more.values()) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
