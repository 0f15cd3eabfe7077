#!/usr/bin/env python3
"""Jobs made slow in known ways: does `saccade run --detect-bottlenecks` name the cause, and is the gain that it promises there?

    bench/verdict.py [--jobs 50] [--seed 7] [--rounds 3] [--causes preset,threads,…] [--json FILE]

Each job is drawn from the seed: cause, strength, picture size, content, effect. It is run slowed, with the verdict, and cured, in turn,
ROUNDS times; the medians of frames a second give the gain that there was. Right: the verdict names the planted cause. The gain's error is
that of the promised speed-up for this cause against it. Causes: preset (slow encoder preset), threads (one), tokens (frames under way),
resolution (4K beside the same at 1080p), memory (--max-memory as small as it goes), source (read through a throttled pipe), pictures (a PNG
a frame), batch (far more windows at once than the caches hold), model (one that is too big for a core's second cache, beside --small, which
gives the same masks: bench/models/opaque.py makes both), precision (fp32 where the CPU has bf16). What this machine or build does not have is left out and said.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import measure

NAMES = {"preset": ["encoder-preset"], "threads": ["few-threads"], "tokens": ["few-frames-under-way"], "resolution": ["large-pictures"],
         "memory": ["memory-cap"], "source": ["slow-input"], "pictures": ["picture-output"], "batch": ["large-batch"],
         "model": ["large-network", "memory-bound"], "precision": ["precision"]}


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)], check=True)


def clip(folder, width, height, frames, content):
    """A clip of that size: synthetic pictures with movement and some noise."""
    path = folder / f"{content}_{width}x{height}_{frames}.mp4"
    if not path.is_file():
        source = {"bars": f"testsrc2=s={width}x{height}:r=30", "zoom": f"mandelbrot=s={width}x{height}:r=30:start_scale=0.5",
                  "life": f"cellauto=s={width}x{height}:r=30:rule=110"}[content]
        ffmpeg("-f", "lavfi", "-i", source, "-frames:v", frames, "-vf", "noise=alls=3:allf=t,format=yuv420p", "-c:v", "libx264", "-preset",
               "veryfast", "-crf", "20", path)
    return path


def throttled(path, pipe, bytes_a_second):
    """Writes a file into a pipe at that rate, from a thread."""
    def write():
        piece = max(1, int(bytes_a_second / 50))
        with open(path, "rb") as source, open(pipe, "wb", buffering=0) as sink:
            while chunk := source.read(piece):
                try:
                    sink.write(chunk)
                except BrokenPipeError:
                    return
                time.sleep(1 / 50)
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def smallest_memory(args, model):
    """The least --max-memory that the model takes."""
    done = subprocess.run([args.saccade, "bench", model, "--max-memory", "1K", "--repeats", "1"], capture_output=True, text=True)
    numbers = [int(n) for n in re.findall(r"(\d{4,}) bytes", done.stderr)]
    if not numbers:
        raise RuntimeError("no smallest memory in: " + done.stderr)
    return max(numbers)


class Job:
    """Arguments of the slowed and of the cured run."""

    def __init__(self, args, cause, rng, folder):
        self.cause, self.folder = cause, folder
        self.pipe_rate = None
        content = rng.choice(["bars", "zoom", "life"])
        width, height = rng.choice([(960, 540), (1280, 720), (1920, 1080)])
        # Where a cured job is fast or all CPUs are to be at work, long enough that how it begins and ends does not count.
        frames = 300 if cause in ("threads", "tokens") else 90
        effect = rng.choice(["blur", "remove", "mask"])
        common = ["--effect", effect, "--model", args.model]
        self.slow, self.cured = list(common), list(common)
        if cause == "batch":
            batch = rng.choice([32, 64, 128])
            overlap = rng.choice(["0.5", "0.75"])
            width, height, frames = 1280, 720, 30
            self.slow += ["--window", "auto", "--window-overlap", overlap, "--window-batch", str(batch)]
            self.cured += ["--window", "auto", "--window-overlap", overlap]
            self.strength = f"{batch} windows"
        if cause == "model":
            large = rng.choice(args.large)
            frames = 150
            self.slow[self.slow.index("--model") + 1] = large
            self.cured[self.cured.index("--model") + 1] = args.small
            self.strength = pathlib.Path(large).stem
        self.out_slow, self.out_cured = folder / "slow.mp4", folder / "cured.mp4"
        if cause == "preset":
            preset = rng.choice(["medium", "slow", "slower", "veryslow"])
            self.slow += ["--preset", preset]
            self.strength = preset
        elif cause == "threads":
            self.slow += ["--threads", "1"]
            self.strength = "1"
        elif cause == "tokens":
            self.slow += ["--tokens", "1"]
            self.strength = "1"
        elif cause == "pictures":
            self.out_slow = folder / "pictures"
            self.slow += ["--output-format", "png"]
            self.strength = "png"
        elif cause == "memory":
            bound = int(args.smallest * rng.choice([1, 1.05]))
            self.slow += ["--max-memory", str(bound)]
            self.strength = f"{bound} bytes"
        elif cause == "precision":
            self.cured += ["--precision", "bf16"]
            self.strength = "fp32"
        if cause == "resolution":
            width, height, frames = 3840, 2160, 150
        self.input = clip(args.clips, width, height, frames, content)
        self.input_cured = self.input
        if cause == "resolution":
            self.input_cured = args.clips / (self.input.stem + "_1080p.mp4")
            if not self.input_cured.is_file():
                ffmpeg("-i", self.input, "-vf", "scale=1920:1080", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", self.input_cured)
            self.strength = "4K"
        if cause == "source":
            self.slowness = rng.choice([3, 5, 8])
            self.strength = f"{self.slowness} times"
        self.title = f"{width}x{height} {content} {effect}"

    def run(self, args, slow):
        source, out = (self.input, self.out_slow) if slow else (self.input_cured, self.out_cured)
        extra = self.slow if slow else self.cured
        thread = None
        if slow and self.cause == "source":
            pipe = self.folder / "pipe.mkv"
            if not pipe.exists():
                os.mkfifo(pipe)
            matroska = args.clips / (self.input.stem + ".mkv")
            if not matroska.is_file():
                ffmpeg("-i", self.input, "-c", "copy", matroska)
            if self.pipe_rate is None:  # so much slower than the job could take it
                seconds = self.run(args, False)["seconds"]
                self.pipe_rate = matroska.stat().st_size / (seconds * self.slowness)
            thread = throttled(matroska, pipe, self.pipe_rate)
            source = pipe
        if out.suffix == "":
            out.mkdir(exist_ok=True)
        command = [args.saccade, "run", source, "-o", out, "--overwrite", "--json", "--progress", "none", *extra]
        if slow:
            command.append("--detect-bottlenecks")
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(" ".join(map(str, command)) + ": " + done.stderr)
        if thread:
            thread.join()
        return json.loads(done.stdout)


def promised(verdict, cause):
    """The speed-up that was promised for removing this cause: that of the suggestion that the verdict gave for it."""
    settings = {"preset": "--preset", "threads": "--threads", "tokens": "--tokens", "resolution": "scale the input", "memory": "--max-memory",
                "source": "copy the input", "pictures": "a video", "precision": "--precision", "batch": "--window-batch", "model": "smaller network"}
    for suggestion in verdict["suggestions"]:
        if settings[cause] in suggestion["setting"]:
            return suggestion["speedup"]
    return 1.0  # nothing was promised


def possible(args):
    """Causes that can be planted here, and why others cannot."""
    options = subprocess.run([args.saccade, "run", "--help"], capture_output=True, text=True).stdout
    left_out = {}
    if "--tokens" not in options:
        left_out["tokens"] = "there is no --tokens"
    if measure.machine(args.saccade)["isa"] not in ("amx", "avx512_bf16"):
        left_out["precision"] = "this CPU has no instructions for bf16"
    if os.cpu_count() < 2:
        left_out["threads"] = "one CPU"
    if not args.large:
        left_out["model"] = "no large model is named with --large"
    return [cause for cause in NAMES if cause not in left_out], left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--causes", default="")
    parser.add_argument("--model", default="selfie")
    parser.add_argument("--large", nargs="*", default=[], help="models that are too big for a core's second cache")
    parser.add_argument("--small", default="selfie", help="the model beside the large ones: with their masks, else encoders get other pictures")
    parser.add_argument("--first", type=int, default=0, help="number of the first job that is run: many jobs can be run in pieces")
    parser.add_argument("--saccade", type=pathlib.Path, default=measure.SACCADE)
    parser.add_argument("--clips", type=pathlib.Path, default=measure.ROOT / "build/bench/verdict-clips")
    parser.add_argument("--json", type=pathlib.Path, default=measure.ROOT / "build/bench/verdict.json")
    args = parser.parse_args()
    args.clips.mkdir(parents=True, exist_ok=True)
    causes, left_out = possible(args)
    if args.causes:
        causes = [cause for cause in args.causes.split(",") if cause in causes]
    args.smallest = smallest_memory(args, args.model) if "memory" in causes else 0
    for cause, why in left_out.items():
        print(f"left out: {cause}: {why}")
    rows, report = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(args.jobs):
            cause = causes[number % len(causes)]
            folder = pathlib.Path(scratch) / str(number)
            folder.mkdir()
            job = Job(args, cause, random.Random(f"{args.seed} {number}"), folder)
            if number < args.first:
                continue
            slow, cured, verdicts = [], [], []
            for _ in range(args.rounds):
                result = job.run(args, True)
                slow.append(result["fps"])
                verdicts.append(result["bottleneck"])
                cured.append(job.run(args, False)["fps"])
            seen = measure.median(cured) / measure.median(slow)
            verdict = sorted(verdicts, key=lambda v: promised(v, cause))[len(verdicts) // 2]
            promise = promised(verdict, cause)
            error = promise / seen - 1
            worth = seen >= 1.15  # what gains nothing is no cause
            right = verdict["cause"] in NAMES[cause]
            report.append({"cause": cause, "strength": job.strength, "job": job.title, "verdict": verdict["cause"], "right": right, "worth": worth,
                           "promised": promise, "seen": seen, "error": error, "slow_fps": slow, "cured_fps": cured, "text": verdict["text"],
                           "stages": verdict["stages"], "model_fps": verdict["model_fps"]})
            rows.append([number, cause, job.strength, job.title, verdict["cause"], "yes" if right else "NO" if worth else "no gain",
                         f"{promise:.2f}", f"{seen:.2f}", f"{100 * error:+.0f} %"])
            print(*rows[-1], sep="  ", flush=True)
    counted = [each for each in report if each["worth"]]
    print(measure.markdown(["#", "planted", "strength", "job", "verdict", "right", "promised", "seen", "error"], rows))
    right = sum(each["right"] for each in counted)
    errors = sorted(abs(each["error"]) for each in counted if each["right"])
    print(f"\n{right} of {len(counted)} jobs that their cause really slowed by 15 % or more were judged right "
          f"({len(report) - len(counted)} others not counted)")
    if errors:
        print(f"error of the promised gain: median {100 * measure.median(errors):.0f} %, largest {100 * errors[-1]:.0f} %, within 20 %: "
              f"{sum(error <= 0.2 for error in errors)} of {len(errors)}")
    about = measure.machine(args.saccade)
    print(measure.describe(about))
    measure.write_json(args.json, {"machine": about, "left_out": left_out, "jobs": report})
    return 0


if __name__ == "__main__":
    sys.exit(main())
