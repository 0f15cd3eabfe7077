#!/usr/bin/env python3
"""Are the results right? Outputs of networks beside ONNX Runtime and LiteRT, masks beside MediaPipe's, bits beside our own.

    bench/agreement.py [--models lraspp_mnv3,…] [--reference DIR] [--clips DIR] [--isa avx2,portable] [--executor planned,reference]

Needs bench/peers/setup (run this script with its Python) and the preset `release`. Checks, each with its bound:
  outputs     each model's outputs beside the peer's, relative to the largest output: 1e-4
  threads     bits equal for 1 and 2 threads and for batch 1 and 4
  kernels     at least 99 % of the multiply-adds run on kernels of an instruction set
  network     (--reference) masks within 3e-4 of MediaPipe's, logits within 1e-2, for every picture in general/ and landscape/
  pictures    (--reference) IoU of `saccade run --effect mask` with MediaPipe's mask; the default resize within 0.005 of the
              folder's picture_level.csv, `--resize mediapipe` at least 0.9999
  clips       (--clips) the same from video with `--resize mediapipe`: every frame at least 0.996, the mean at least 0.998
DIR of --reference is laid out as MediaPipe's reference masks are described in docs/measuring.md.
Exit status: 0 everything holds; 1 something does not.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

import measure
from tflite_outputs import before_last_operator

MODELS = ["lraspp_mnv3.onnx", "dlv3_mnv3.onnx", "dlv3_r50.onnx", "unet64.onnx", "u2netp.onnx",
          "selfie_segmentation.tflite", "selfie_segmentation_landscape.tflite"]

NETWORKS = {"general": "selfie_segmentation.tflite", "landscape": "selfie_segmentation_landscape.tflite"}
failures = []


def check(what, value, good, text):
    """Prints one line; remembers what does not hold."""
    print(f"{'ok  ' if good else 'FAIL'}  {what}: {text.format(value)}", flush=True)
    if not good:
        failures.append(what)


class Saccade:
    def __init__(self, program):
        self.program = program

    def infer(self, model, x, folder, *options):
        """All outputs of one run, by file stem."""
        folder = pathlib.Path(folder)
        numpy.save(folder / "x.npy", x)
        out = folder / "out"
        for old in out.glob("*.npy"):
            old.unlink()
        subprocess.run([self.program, "infer", model, "--input", folder / "x.npy", "--output", out, "--overwrite", *map(str, options)],
                       check=True, stdout=subprocess.DEVNULL)
        return {path.stem: numpy.load(path) for path in sorted(out.glob("*.npy"))}

    def run(self, source, out, *options):
        subprocess.run([self.program, "run", source, "-o", out, "--overwrite", "--quiet", *map(str, options)], check=True)

    def bench(self, model):
        done = subprocess.run([self.program, "bench", model, "--json=-", "--repeats", "1"], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)


def random_input(shape):
    return numpy.random.default_rng(7).standard_normal(shape).astype(numpy.float32)


def peer_outputs(model):
    """(input, outputs by the file name that `infer` gives them) from ONNX Runtime or LiteRT."""
    if model.suffix == ".tflite":
        from ai_edge_litert.interpreter import Interpreter
        interpreter = Interpreter(str(model), num_threads=2)
        interpreter.allocate_tensors()
        detail = interpreter.get_input_details()[0]
        x = numpy.random.default_rng(7).random(detail["shape"], dtype=numpy.float32)
        interpreter.set_tensor(detail["index"], x)
        interpreter.invoke()
        return x, {d["name"].replace("/", "_"): interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()}
    import onnxruntime
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    value = session.get_inputs()[0]
    x = random_input([d if isinstance(d, int) else 1 for d in value.shape])
    names = [v.name for v in session.get_outputs()]
    return x, {n.replace("/", "_"): y for n, y in zip(names, session.run(None, {value.name: x}))}


def relative_difference(ours, theirs):
    """Largest difference relative to the largest output; infinite where shapes or finiteness differ."""
    if ours.shape != theirs.shape or not numpy.isfinite(ours).all():
        return float("inf")
    return float(numpy.abs(ours.astype(numpy.float64) - theirs).max() / max(1e-30, numpy.abs(theirs).max()))


def check_outputs(saccade, model, args, folder):
    x, theirs = peer_outputs(model)
    for executor in args.executor.split(","):
        for isa in args.isa.split(",") if executor == "planned" else [""]:
            options = ["--executor", executor, *(["--isa", isa] if isa else [])]
            ours = saccade.infer(model, x, folder, *options)
            worst = max((relative_difference(ours[name], y) if name in ours else float("inf")) for name, y in theirs.items())
            check(f"outputs {model.name} {executor} {isa}".rstrip(), worst, worst <= 1e-4, "{:.1e} of the largest output")
    one = saccade.infer(model, x, folder, "--threads", 1)
    two = saccade.infer(model, x, folder, "--threads", 2)
    same = all(numpy.array_equal(one[name], two[name]) for name in one)
    check(f"threads {model.name}", same, same, "bits equal for 1 and 2 threads: {}")
    batch = numpy.concatenate([x, x[::-1] * 0.5, x * 0.25, x])
    try:
        four = saccade.infer(model, batch, folder, "--threads", 2)
    except subprocess.CalledProcessError:
        check(f"batch {model.name}", "refused", model.suffix != ".tflite", "batch 4 {}")
        return
    same = all(numpy.array_equal(one[name][0], four[name][0]) and numpy.array_equal(one[name][0], four[name][3]) for name in one)
    check(f"batch {model.name}", same, same, "bits equal for batch 1 and 4: {}")


def check_kernels(saccade, model):
    share = saccade.bench(model)["configurations"][0]["isa_kernel_share"]
    check(f"kernels {model.name}", share, share >= 0.99, "{:.2%} of the multiply-adds on kernels of an instruction set")


def check_network_level(saccade, args, folder):
    for name, file in NETWORKS.items():
        model = args.folder / file
        logits_model = pathlib.Path(folder) / file
        logits_model.write_bytes(before_last_operator(model.read_bytes()))
        for isa in args.isa.split(","):
            for threads in (1, 2):
                masks, logits = [0.0], [0.0]
                for picture in sorted((args.reference / name).glob("*.mask16.png")):
                    stem = picture.name[:-len(".mask16.png")]
                    pixels = numpy.asarray(Image.open(picture.parent / f"{stem}.png").convert("RGB"))
                    x = (pixels.astype(numpy.float32) / 255)[None]
                    options = ["--isa", isa, "--threads", threads]
                    mask = next(iter(saccade.infer(model, x, folder, *options).values())).squeeze()
                    want = numpy.asarray(Image.open(picture)).astype(numpy.float64) / 65535
                    masks.append(float(numpy.abs(mask - want).max()))
                    stored = picture.parent / f"{stem}.logits.npy"
                    if stored.is_file():
                        have = next(iter(saccade.infer(logits_model, x, folder, *options).values())).squeeze()
                        logits.append(float(numpy.abs(have - numpy.load(stored)).max()))
                what = f"network {name} {isa} {threads} threads"
                check(what + ", masks", max(masks), len(masks) > 1 and max(masks) <= 3e-4, "{:.1e}")
                check(what + ", logits", max(logits), len(logits) > 1 and max(logits) <= 1e-2, "{:.1e}")


def iou(a, b):
    """Of two boolean masks; None where both are empty."""
    union = numpy.logical_or(a, b).sum()
    return float(numpy.logical_and(a, b).sum() / union) if union else None


def expected_ious(reference):
    """What picture_level.csv says of half-pixel bilinear resizing, by (picture, network); only pictures with a mask."""
    with open(reference / "picture_level.csv", newline="") as file:
        return {(row["picture"], row["model"]): float(row["iou_half_pixel"]) for row in csv.DictReader(file)
                if row["iou_half_pixel"]}


def check_pictures(saccade, args, folder):
    expected = expected_ious(args.reference)
    for name, file in NETWORKS.items():
        for stored in sorted((args.reference / "native").glob(f"*.{name}.png")):
            stem = stored.name[:-len(f".{name}.png")]
            want = numpy.asarray(Image.open(stored).convert("L")) > 127
            for rule in ("bilinear", "mediapipe"):
                out = pathlib.Path(folder) / "mask.png"
                saccade.run(stored.parent / f"{stem}.png", out, "--model", args.folder / file, "--effect", "mask", "--resize", rule)
                value = iou(numpy.asarray(Image.open(out).convert("L")) > 127, want)
                what = f"pictures {stem} {name} {rule}"
                if value is None:
                    check(what, "empty", True, "both {}")
                elif rule == "mediapipe":
                    check(what, value, value >= 0.9999, "IoU {:.5f}")
                elif (stem, name) in expected:
                    least = expected[stem, name]
                    check(what, value, abs(value - least) <= 0.005, f"IoU {{:.4f}}, expected {least:.4f}")


def check_clips(saccade, args, folder):
    for name, file in NETWORKS.items():
        for stored in sorted((args.reference / "clips").glob(f"*.{name}.png")):
            stem = stored.name.split(".")[0]
            clips = [clip for clip in sorted(args.clips.glob("*.mp4")) if stem in clip.name.lower()]
            if not clips:
                print(f"      clips {stem} {name}: no such clip in {args.clips}")
                continue
            out = pathlib.Path(folder) / "mask.mkv"
            saccade.run(clips[0], out, "--model", args.folder / file, "--effect", "mask", "--resize", "mediapipe", "--encoder", "ffv1")
            size = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height",
                                   "-of", "csv=p=0", out], check=True, capture_output=True, text=True).stdout.strip().rstrip(",")
            width, height = map(int, size.split(","))
            raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", out, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
                                 check=True, capture_output=True).stdout
            frames = numpy.frombuffer(raw, numpy.uint8).reshape(-1, height, width) > 127
            want = numpy.asarray(Image.open(stored).convert("L")).reshape(-1, height, width) > 127
            values = [v for v in map(iou, frames, want) if v is not None]
            check(f"clips {stem} {name}, least", min(values), min(values) >= 0.996, "IoU {:.4f}")
            check(f"clips {stem} {name}, mean", sum(values) / len(values), sum(values) / len(values) >= 0.998, "IoU {:.4f}")


def main():
    parser = argparse.ArgumentParser(description="Agreement of results with other engines and with reference masks.")
    parser.add_argument("--models", default="", help="comma-separated stems; all by default, none for '-'")
    parser.add_argument("--folder", type=pathlib.Path, default=measure.ROOT / "build/models", help="where the models lie")
    parser.add_argument("--isa", default="avx2,portable")
    parser.add_argument("--executor", default="planned", help="planned, reference (slow: use small models), or both")
    parser.add_argument("--reference", type=pathlib.Path, help="a folder of MediaPipe's reference masks")
    parser.add_argument("--clips", type=pathlib.Path, help="a folder of the reference's clips")
    parser.add_argument("--saccade", type=pathlib.Path, default=measure.SACCADE)
    args = parser.parse_args()

    known = {pathlib.Path(name).stem: args.folder / name for name in MODELS}
    for path in args.folder.glob("*.onnx"):
        known.setdefault(path.stem, path)
    wanted = [] if args.models == "-" else args.models.split(",") if args.models else list(known)
    saccade = Saccade(args.saccade)
    print(measure.describe(measure.machine(args.saccade)))
    with tempfile.TemporaryDirectory() as folder:
        for stem in wanted:
            check_outputs(saccade, known[stem], args, folder)
            check_kernels(saccade, known[stem])
        if args.reference:
            check_network_level(saccade, args, folder)
            check_pictures(saccade, args, folder)
            if args.clips:
                check_clips(saccade, args, folder)
    print(f"{len(failures)} checks do not hold" if failures else "everything holds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
