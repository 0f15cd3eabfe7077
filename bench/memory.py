#!/usr/bin/env python3
"""Peak memory of `saccade run` against the length of a video, and against plain ffmpeg's.

    bench/memory.py [--seconds 1000] [--rate 3] [--only NAME[,NAME...]] [--json FILE]

Clips of 1920x1080 with sound are made by ffmpeg, ten seconds and --seconds long; the long one is ten seconds over and over. Its low
frame rate makes a length of 1000 s affordable: what grows with the number of packets of sound, of seconds and of pictures is all there.
The short one has 30 pictures a second: with as few as the long one every queue would not be full at some time, as it is in the long one.
For every kind of job, the peak of the short and of the long clip, which may differ by 10 %. Then, at 1080p and at 8K, the peak of the
main job beside ffmpeg's, which re-encodes the same clip with the same settings and threads: 150 MB more at 1080p, 12 pictures at 8K.
Exit code 1 where one of the limits is exceeded.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import measure

ENCODER = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20"]
GROWTH = 0.10
RATE = 30
MORE_1080P = 150e6
PICTURES_8K = 12

# Name: (clip, output, options, what else is written). The clip's name says what it holds beside pictures.
JOBS = {
    "blur": ("sound", "out.mp4", ["--effect", "blur"]),
    "mask": ("sound", "out.mp4", ["--effect", "mask"]),
    "blur and masks": ("sound", "out.mp4", ["--effect", "blur", "--mask-output", "masks.mkv"]),
    "resumable": ("sound", "out.mp4", ["--effect", "blur", "--resumable", "--segment-seconds", "1"]),
    "to mkv": ("sound", "out.mkv", ["--effect", "blur"]),
    "sound converted": ("sound", "out.webm", ["--effect", "blur", "--encoder", "libvpx", "--preset", "8"]),
    "few subtitles": ("subtitles", "out.mkv", ["--effect", "blur"]),
    "few subtitles to mp4": ("subtitles", "out.mp4", ["--effect", "blur"]),
    "gaps": ("gaps", "out.mp4", ["--effect", "blur"]),
    "sound behind the pictures": ("tail", "out.mp4", ["--effect", "blur"]),
}


def ffmpeg(*arguments):
    return ["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)]


def make(path, *arguments):
    if path.is_file():
        return path
    part = path.with_name("part_" + path.name)
    subprocess.run(ffmpeg(*arguments, part), check=True)
    part.rename(path)
    return path


def subtitles(path, seconds):
    """Two lines in all, at the start and at the end."""
    def stamp(t):
        return f"{int(t) // 3600:02}:{int(t) // 60 % 60:02}:{int(t) % 60:02},{int(t * 1000) % 1000:03}"
    path.write_text("".join(f"{n + 1}\n{stamp(t)} --> {stamp(t + 1)}\nline {n + 1}\n\n"
                            for n, t in enumerate([0.5, seconds - 2])))
    return path


def clip(folder, kind, rate, seconds):
    """A clip of 1080p: a moving test picture with noise like a sensor's, and sound of 128 kbit/s."""
    rate_name = f"{rate:g}".replace(".", "_")
    ten = make(folder / f"sound_{rate_name}_10.mkv", "-f", "lavfi", "-i",
               f"testsrc2=s=1920x1080:r={rate}:d=10,noise=alls=4:allf=t,format=yuv420p", "-f", "lavfi", "-i",
               "anoisesrc=a=0.1:d=10:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "24", "-c:a", "aac", "-b:a", "128k",
               "-shortest")
    whole = ten
    if seconds > 10:
        whole = make(folder / f"sound_{rate_name}_{seconds}.mkv", "-stream_loop", seconds // 10 - 1, "-i", ten, "-c", "copy")
    name = folder / f"{kind}_{rate_name}_{seconds}.mkv"
    if kind == "subtitles":
        return make(name, "-i", whole, "-i", subtitles(folder / f"{seconds}.srt", seconds), "-map", "0", "-map", "1", "-c", "copy",
                    "-c:s", "srt")
    if kind == "gaps":  # a second of pictures, then a tenth of the length without any, and so on
        gap = seconds / 10
        return make(name, "-i", whole, "-c", "copy", "-c:v", "libx264", "-preset", "ultrafast", "-vf",
                    f"select='lt(mod(t,{gap}),1)'", "-vsync", "vfr")
    if kind == "tail":  # pictures for the first ten seconds only
        return make(name, "-i", ten, "-i", whole, "-map", "0:v", "-map", "1:a", "-c", "copy")
    return whole


def run(args, source, job, folder):
    _, output, options = JOBS[job]
    where = folder / "out"
    where.mkdir(exist_ok=True)
    options = [where / option if option == "masks.mkv" else option for option in options]
    command = [args.saccade, "run", source, "-o", where / output, "--overwrite", "--quiet", "--crf", "20", *options]
    if "--preset" not in options:
        command += ["--preset", args.preset]
    seconds, peak = measure.run_measured(command)
    for file in where.iterdir():
        file.unlink()
    return seconds, peak


def grow(args, folder):
    """The peaks of every kind of job for a short and a long clip."""
    rows, report, failed = [], {}, []
    for job, (kind, _, _) in JOBS.items():
        if args.only and job not in args.only:
            continue
        peaks = []
        for seconds, rate in ((10, RATE), (args.seconds, args.rate)):
            took, peak = run(args, clip(folder, kind, rate, seconds), job, folder)
            peaks.append(peak)
            print(f"{job}, {seconds} s: {peak / 1e6:.0f} MB, took {took:.0f} s", file=sys.stderr, flush=True)
        growth = peaks[1] / peaks[0] - 1
        report[job] = {"peak_bytes": peaks, "growth": growth}
        rows.append([job, f"{peaks[0] / 1e6:.0f}", f"{peaks[1] / 1e6:.0f}", f"{100 * growth:+.1f} %"])
        if growth > GROWTH:
            failed.append(f"{job}: the long clip takes {100 * growth:.1f} % more")
    print(measure.markdown(["job", "10 s, MB", f"{args.seconds} s, MB", "growth"], rows))
    return report, failed


def beside_ffmpeg(args, folder):
    """The main job's peak less that of ffmpeg with the same settings."""
    rows, report, failed = [], {}, []
    sizes = {"1080p": (1920, 1080, 10, MORE_1080P), "8K": (7680, 4320, 4, PICTURES_8K * 7680 * 4320 * 1.5)}
    for name, (width, height, seconds, most) in sizes.items():
        source = make(folder / f"{name}_{seconds}.mp4", "-f", "lavfi", "-i",
                      f"testsrc2=s={width}x{height}:r=10:d={seconds},noise=alls=4:allf=t,format=yuv420p", "-c:v", "libx264", "-preset",
                      "ultrafast", "-crf", "24")
        out = folder / "out.mp4"
        _, plain = measure.run_measured(ffmpeg("-i", source, *ENCODER, out))
        _, ours = measure.run_measured([args.saccade, "run", source, "-o", out, "--effect", "blur", "--overwrite", "--quiet", "--crf",
                                        "20", "--preset", "veryfast"])
        out.unlink()
        picture = width * height * 1.5
        report[name] = {"ffmpeg_bytes": plain, "saccade_bytes": ours, "most_bytes": plain + most}
        rows.append([name, f"{plain / 1e6:.0f}", f"{ours / 1e6:.0f}", f"{(ours - plain) / 1e6:+.0f}", f"{(ours - plain) / picture:+.1f}",
                     f"{most / 1e6:.0f}"])
        if ours - plain > most:
            failed.append(f"{name}: {(ours - plain) / 1e6:.0f} MB more than ffmpeg, {most / 1e6:.0f} are allowed")
    print(measure.markdown(["size", "ffmpeg, MB", "saccade, MB", "more, MB", "in pictures", "limit, MB"], rows))
    return report, failed


def main():
    parser = argparse.ArgumentParser(description="Peak memory of saccade run against a video's length and against ffmpeg's.")
    parser.add_argument("--seconds", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=3, help="pictures a second of the long clips (default: 3)")
    parser.add_argument("--preset", default="veryfast", help="of x264 (default: veryfast); a faster one makes the long clips bearable")
    parser.add_argument("--only", type=lambda text: text.split(","), help="kinds of job, instead of all")
    parser.add_argument("--no-ffmpeg", action="store_true", help="leave out the comparison with ffmpeg")
    parser.add_argument("--saccade", type=pathlib.Path, default=measure.SACCADE)
    parser.add_argument("--folder", type=pathlib.Path, default=measure.ROOT / "build/bench", help="for clips and results")
    parser.add_argument("--json", type=pathlib.Path, default=measure.ROOT / "build/bench/memory.json")
    args = parser.parse_args()
    folder = args.folder / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    about = measure.machine(args.saccade)
    print(measure.describe(about), flush=True)
    report = {"machine": about, "rate": args.rate, "seconds": args.seconds}
    report["length"], failed = grow(args, folder)
    if not args.no_ffmpeg:
        report["size"], more = beside_ffmpeg(args, folder)
        failed += more
    measure.write_json(args.json, report)
    for line in failed:
        print(f"memory: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
