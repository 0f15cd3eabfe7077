#!/usr/bin/env python3
"""Trains a small U-Net to find vessels in pictures of the retina, and exports it: a network whose masks mean something, for checks of precision.

    train_vessels.py PICTURES OUTDIR [--minutes 6] [--base 16] [--size 512] [--held 3]

PICTURES holds NN_training.tif (or .png) and NN_manual1.gif (or .png), white on black, for each NN, as the DRIVE collection does. The last `--held` pictures are
not trained on. Written to OUTDIR: vessels.onnx (input 1x3xSIZExSIZE, RGB / 255; output: logits, above 0 is vessel), vessels.yaml (what it
expects and returns), and the folders held/ and held_labels/ with these pictures and their labels. Needs torch, numpy and Pillow. It
stops after so many minutes of CPU time, or when 3 checks in a row bring nothing.
"""
import argparse
import pathlib
import time

import numpy
import torch
from PIL import Image
from torch.nn import functional as F

from export_models import UNet, write_onnx

SPEC = """input:
  color: rgb
  scale: 0.00392156862745098
output:
  kind: logits
"""


def read(folder):
    """[(name, picture 3xHxW in 0..1, label 1xHxW)]"""
    found = []
    for picture in sorted(folder.glob("*_training.*")):
        name = picture.name.split("_")[0]
        labels = sorted(folder.glob(f"{name}_manual1.*"))
        if not labels:
            continue
        x = numpy.asarray(Image.open(picture).convert("RGB"), numpy.float32).transpose(2, 0, 1) / 255
        y = (numpy.asarray(Image.open(labels[0]).convert("L")) > 127).astype(numpy.float32)[None]
        found.append((name, torch.from_numpy(x.copy()), torch.from_numpy(y)))
    if len(found) < 2:
        raise SystemExit(f"{folder}: expected pictures NN_training.tif with labels NN_manual1.gif")
    return found


def resized(x, size, mode):
    return F.interpolate(x[None], (size, size), mode=mode, **({"align_corners": False} if mode == "bilinear" else {}))[0]


def batch(pictures, labels, count, side, random):
    """Patches, mirrored and turned, with another brightness and contrast each."""
    xs, ys = [], []
    for _ in range(count):
        i = random.integers(len(pictures))
        top, left = (random.integers(pictures[i].shape[d] - side) for d in (1, 2))
        cut = (slice(None), slice(top, top + side), slice(left, left + side))
        x, y, turns = pictures[i][cut], labels[i][cut], int(random.integers(4))
        if random.integers(2):
            x, y = x.flip(2), y.flip(2)
        x, y = torch.rot90(x, turns, (1, 2)), torch.rot90(y, turns, (1, 2))
        xs.append((x * random.uniform(0.8, 1.25) + random.uniform(-0.1, 0.1)).clamp(0, 1))
        ys.append(y)
    return torch.stack(xs), torch.stack(ys)


def dice(net, pictures, labels):
    net.eval()
    both = sizes = 0.0
    with torch.no_grad():
        for x, y in zip(pictures, labels):
            mask = (net(x[None])[0] > 0).float()
            both, sizes = both + 2 * float((mask * y).sum()), sizes + float(mask.sum() + y.sum())
    net.train()
    return both / max(1.0, sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=pathlib.Path)
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=6, help="of CPU time")
    parser.add_argument("--base", type=int, default=16, help="channels of the first level")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--held", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    random = numpy.random.default_rng(0)
    data = read(args.pictures)
    pictures = [resized(x, args.size, "bilinear") for _, x, _ in data]
    labels = [(resized(y, args.size, "bilinear") > 0.5).float() for _, _, y in data]
    seen = len(data) - args.held
    net = UNet(1, base=args.base)
    optimiser = torch.optim.Adam(net.parameters(), 2e-3)
    best, state, stale, step = 0.0, None, 0, 0
    while time.process_time() < 60 * args.minutes and stale < 3:
        share = time.process_time() / (60 * args.minutes)
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * (1 - share) + 5e-5
        x, y = batch(pictures[:seen], labels[:seen], 6, 96, random)
        z = net(x)
        p = torch.sigmoid(z)
        loss = F.binary_cross_entropy_with_logits(z, y) + 1 - 2 * (p * y).sum() / (p.sum() + y.sum())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        step += 1
        if step % 60 == 0:
            value = dice(net, pictures[seen:], labels[seen:])
            print(f"{time.process_time():6.0f} s, step {step}: loss {float(loss):.3f}, Dice on held pictures {value:.4f}", flush=True)
            stale = 0 if value > best + 0.002 else stale + (1 if share > 0.5 else 0)
            if value > best:
                best, state = value, {k: v.clone() for k, v in net.state_dict().items()}
    net.load_state_dict(state if state is not None else net.state_dict())
    net.eval()
    args.outdir.mkdir(parents=True, exist_ok=True)
    write_onnx(net, torch.zeros(1, 3, args.size, args.size), args.outdir / "vessels.onnx", 13)
    (args.outdir / "vessels.yaml").write_text(SPEC)
    for folder in ("held", "held_labels"):
        (args.outdir / folder).mkdir(exist_ok=True)
    for (name, *_), x, y in list(zip(data, pictures, labels))[seen:]:
        Image.fromarray((x.numpy().transpose(1, 2, 0) * 255).round().astype(numpy.uint8)).save(args.outdir / "held" / f"{name}.png")
        Image.fromarray((y[0].numpy() * 255).astype(numpy.uint8)).save(args.outdir / "held_labels" / f"{name}.png")
    print(f"{args.outdir / 'vessels.onnx'}: Dice on {args.held} held pictures {best:.4f}")


if __name__ == "__main__":
    main()
