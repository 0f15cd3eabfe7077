#!/usr/bin/env python3
"""What a lower precision does to masks and times: `saccade run` with --precision int8 and auto on trained networks.

    bench/precision.py MODEL[,MODEL…] [--clip CLIP] [--calibration DIR [--labels DIR]] [--precision int8,auto] [--max-mask-change 0.1] [--json FILE] [--saccade PROGRAM]

MODEL is a file or a name that `saccade fetch` knows. CLIP is a video or picture with what the network looks for; without it the first picture of --calibration. Networks
with random weights say nothing here: bench/models/train_vessels.py makes one that does. A line a network and precision: what was used, convolutions lowered, share of mask pixels
that differ from fp32's, mean IoU with labels (and of fp32), time of a run on one thread and that of fp32; below it everything that was looked at. Nothing is taken from the plan cache.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(args, model, precision, folder):
    source = args.clip or sorted(p for p in args.calibration.iterdir() if p.is_file())[0]
    still = source.suffix.lower() in (".png", ".jpg", ".jpeg")
    command = [args.saccade, "run", source, "-o", pathlib.Path(folder) / ("out.png" if still else "out.mp4"), "--model", model, "--effect", "mask",
               "--precision", precision, "--json", "--no-plan-cache", "--overwrite", "--progress", "none"]
    if args.calibration:
        command += ["--calibration", args.calibration]
    if args.labels:
        command += ["--labels", args.labels]
    if precision == "auto":
        command += ["--max-mask-change", str(args.max_mask_change)]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip()}
    return json.loads(done.stdout)["precision_report"]


def line(report):
    if "error" in report:
        return report["error"]
    text = f"{report['used']:<5} {report['convolutions_lowered']:>3} of {report['convolutions']:<3}  change {100 * report['mask_change']:.4f} %"
    if report.get("convolutions_coarse"):
        text += f"  {report['convolutions_coarse']} coarse"
    if "mean_iou" in report:
        text += f"  IoU {report['mean_iou']:.4f} (fp32 {report['mean_iou_fp32']:.4f})"
    if "run_ms" in report:
        text += f"  {report['run_ms']:.2f} ms (fp32 {report['run_ms_fp32']:.2f})"
    return f"{text}  on {report['calibration_pictures']} + {report['measured_pictures']} pictures"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models")
    parser.add_argument("--clip", type=pathlib.Path)
    parser.add_argument("--calibration", type=pathlib.Path)
    parser.add_argument("--labels", type=pathlib.Path)
    parser.add_argument("--precision", default="int8,auto")
    parser.add_argument("--max-mask-change", type=float, default=0.1, help="per cent")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--saccade", default=str(ROOT / "build/release/bin/saccade"))
    args = parser.parse_args()
    if not args.clip and not args.calibration:
        parser.error("--clip or --calibration is needed")
    records, good = [], True
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models.split(","):
            for precision in args.precision.split(","):
                report = run(args, model, precision, folder)
                good = good and "error" not in report
                records.append({"model": model, "precision": precision, **report})
                print(f"{pathlib.Path(model).stem:<28} {precision:<5} {line(report)}", flush=True)
                for c in report.get("candidates", []):
                    print(f"{'':<34} {c['precision']:<5} {c['convolutions_lowered']:>3} lowered, {c['convolutions_coarse']:>2} coarse, change {100 * c['mask_change']:.4f} %"
                          + (f", {c['run_ms']:.2f} ms" if "run_ms" in c else "") + f": {c['verdict']}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(records, indent=2) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
