#!/usr/bin/env python3
"""The main job beside plain ffmpeg: throughput and peak memory of `saccade run --effect blur` on a 1080p clip.

    bench/video.py [--clip FILE] [--frames 600] [--rounds 5] [--json FILE]

Three programs in turn, round after round, in alternating order, on all cores:
  saccade   decodes, segments, blurs, encodes with x264 veryfast crf 20
  source    ffmpeg re-encodes the same clip with those settings
  result    ffmpeg re-encodes what saccade wrote: a blurred picture is cheaper to encode, so this is the harder comparison
The ratio is the lower of the two. Times are of the whole process. Then the memory of a 10 s clip against a 100 s one.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import measure

ENCODER = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20"]


def ffmpeg(*arguments):
    return ["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments]


def make_clip(path, source, frames):
    """A 1080p clip of that many frames, from a small one: enlarged, with sensor-like noise, repeated."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.mp4")
    subprocess.run(ffmpeg("-stream_loop", "-1", "-i", source, "-frames:v", str(frames), "-an",
                          "-vf", "scale=1920:1080:flags=bicubic,setsar=1,noise=alls=4:allf=t,format=yuv420p", "-r", "30",
                          "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", part), check=True)
    part.rename(path)


def count_frames(path):
    probe = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-count_packets", "-show_entries",
                            "stream=nb_read_packets", "-of", "csv=p=0", path], check=True, capture_output=True, text=True)
    return int(probe.stdout.split(",")[0])


def saccade_command(args, clip, out):
    return [args.saccade, "run", clip, "-o", out, "--effect", "blur", "--crf", "20", "--preset", "veryfast",
            "--overwrite", "--json", *args.extra.split()]


def measure_speed(args, clip, folder):
    ours = folder / "saccade.mp4"
    commands = {
        "saccade": saccade_command(args, clip, ours),
        "source": ffmpeg("-i", clip, *ENCODER, folder / "source.mp4"),
        "result": ffmpeg("-i", ours, *ENCODER, folder / "result.mp4"),
    }
    frames = count_frames(clip)
    seconds = {name: [] for name in commands}
    peak = {name: 0 for name in commands}
    summary = None
    for number in range(-1, args.rounds):  # the first round warms the disk cache and makes saccade.mp4: not counted
        names = list(commands) if number % 2 == 0 or number < 0 else list(reversed(commands))
        for name in names:
            with open(folder / f"{name}.log", "wb") as log:
                took, rss = measure.run_measured(commands[name], stdout=log)
            if number < 0:
                continue
            seconds[name].append(took)
            peak[name] = max(peak[name], rss)
            print(f"round {number + 1}: {name:<8} {took:6.2f} s  {frames / took:6.1f} fps  {rss / 1e6:5.0f} MB",
                  file=sys.stderr, flush=True)
    if count_frames(ours) != frames:
        raise SystemExit(f"video: saccade wrote {count_frames(ours)} frames of {frames}")
    try:
        summary = json.loads((folder / "saccade.log").read_text())
    except ValueError:
        print("video: saccade printed no JSON summary", file=sys.stderr)

    def ratio(peer):
        return measure.median([theirs / mine for theirs, mine in zip(seconds[peer], seconds["saccade"])])

    return {
        "frames": frames,
        "seconds": seconds,
        "fps": {name: frames / measure.median(times) for name, times in seconds.items()},
        "ratio_source": ratio("source"),
        "ratio_result": ratio("result"),
        "ratio": min(ratio("source"), ratio("result")),
        "peak_bytes": peak,
        "summary": summary,
    }


def measure_length(args, source, folder):
    """Peak memory for 10 and 100 seconds of the same pictures."""
    short, long = folder / "clip_10s.mp4", folder / "clip_100s.mp4"
    make_clip(short, source, 300)
    if not long.is_file():
        subprocess.run(ffmpeg("-stream_loop", "9", "-i", short, "-c", "copy", long), check=True)
    peak = {}
    for clip in (short, long):
        _, peak[clip.stem] = measure.run_measured(saccade_command(args, clip, folder / "length.mp4"),
                                                  stdout=subprocess.DEVNULL)
    return {"peak_bytes": peak, "growth": peak[long.stem] / peak[short.stem] - 1}


def main():
    root = measure.ROOT
    parser = argparse.ArgumentParser(description="saccade run --effect blur beside plain ffmpeg, interleaved.")
    parser.add_argument("--clip", type=pathlib.Path, help="the clip to use as it is; default: one made from --source")
    parser.add_argument("--source", type=pathlib.Path, help="the small clip to make one from; default: the fetched sample")
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--saccade", type=pathlib.Path, default=measure.SACCADE)
    parser.add_argument("--extra", default="", help="further options for saccade run")
    parser.add_argument("--no-length", action="store_true", help="leave out the 10 s against 100 s comparison")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build/bench", help="for clips and results")
    parser.add_argument("--json", type=pathlib.Path, default=root / "build/bench/video.json")
    args = parser.parse_args()

    args.folder.mkdir(parents=True, exist_ok=True)
    source = args.source or pathlib.Path(
        subprocess.run([root / "scripts/fetch-model", "single-face"], check=True, capture_output=True, text=True).stdout.split("\n")[-2])
    clip = args.clip
    if clip is None:
        clip = args.folder / f"clip_{args.frames}.mp4"
        make_clip(clip, source, args.frames)

    about = measure.machine(args.saccade)
    print(measure.describe(about), flush=True)
    speed = measure_speed(args, clip, args.folder)
    rows = [[name, f"{speed['fps'][name]:.1f}", f"{measure.median(speed['seconds'][name]):.2f}",
             f"{speed['peak_bytes'][name] / 1e6:.0f}"] for name in speed["seconds"]]
    print(measure.markdown(["program", "fps", "s (median)", "peak MB"], rows))
    print(f"\nratio to ffmpeg: {speed['ratio_source']:.3f} re-encoding the source, {speed['ratio_result']:.3f} re-encoding the "
          f"result; the lower: {speed['ratio']:.3f}")
    more = speed["peak_bytes"]["saccade"] - speed["peak_bytes"]["source"]
    print(f"peak memory: {more / 1e6:+.0f} MB against ffmpeg")
    report = {"machine": about, "clip": str(clip), "rounds": args.rounds, "speed": speed}
    if not args.no_length:
        report["length"] = measure_length(args, source, args.folder)
        print(f"peak memory, 100 s against 10 s: {100 * report['length']['growth']:+.1f} %")
    measure.write_json(args.json, report)
    print(f"\n{args.json}")


if __name__ == "__main__":
    main()
