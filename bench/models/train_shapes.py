#!/usr/bin/env python3
"""Trains U-Net-64 on pictures that it draws itself, and exports it: the network of bench/peers with weights whose masks mean something.

    train_shapes.py OUTDIR [--minutes 6] [--size 512] [--calibration 4] [--held 6] [--check]

A picture shows blobs of five kinds, which differ in their hues, with textures of five sorts, over a ground of faint clouds, with noise and uneven light. The network is export_models.py's
unet64, the same graph: of its 21 classes 0 is the ground, 1 to 5 are the kinds, and the others do not occur. Written to OUTDIR: unet64_shapes.onnx (input as torchvision's networks want it, output: logits of 21 classes), unet64_shapes.yaml (what it expects and returns), and the folders
unet64_shapes/calibration, unet64_shapes/held and unet64_shapes/held_labels with pictures (PPM) that it was not trained on and labels (PGM, the class of each pixel). Needs
torch, and as many minutes of one core as asked for. A seed makes the pictures reproducible; how far the training gets depends on the machine. Ctrl-C ends the training early.
--check trains a tenth as wide a network for some steps: whether this script works.
"""
import argparse
import colorsys
import pathlib
import signal
import time

import numpy
import torch
from torch.nn import functional as F

from export_models import UNet, write_onnx

MEAN, DEVIATION = (numpy.array(v, numpy.float32).reshape(3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
HUES = (0.0, 0.2, 0.4, 0.6, 0.8)  # red, yellow, green, blue, violet
TEXTURES = 5
SPEC = """input:
  color: rgb
  scale: 0.00392156862745098
  mean: [0.485, 0.456, 0.406]
  std: [0.229, 0.224, 0.225]
output:
  kind: class_logits
"""


def colour(random, hue, spread, saturation, value):
    rgb = colorsys.hsv_to_rgb((hue + random.uniform(-spread, spread)) % 1, random.uniform(*saturation), random.uniform(*value))
    return numpy.array(rgb, numpy.float32).reshape(3, 1, 1)


def clouds(random, channels, size, cell):
    """Noise between -1 and 1 whose features are about `cell` pixels large."""
    count = size // cell + 3
    grid = torch.from_numpy(random.uniform(-1, 1, (1, channels, count, count)).astype(numpy.float32))
    return F.interpolate(grid, size=(count * cell, count * cell), mode="bicubic", align_corners=False)[0, :, cell:cell + size, cell:cell + size].numpy()


def texture(random, kind, u, v):
    """Brightness between -1 and 1 at positions in the blob's own directions."""
    turn = 2 * numpy.pi / random.uniform(6, 10)
    if kind == 0:
        return numpy.sin(turn * u)  # stripes
    if kind == 1:
        return numpy.sign(numpy.sin(turn * u) * numpy.sin(turn * v)).astype(numpy.float32)  # a chess board
    if kind == 2:
        return numpy.where(numpy.cos(turn * u) + numpy.cos(turn * v) > 0.9, 1.0, -0.4).astype(numpy.float32)  # dots
    if kind == 3:
        cells = random.uniform(-1, 1, (64, 64)).astype(numpy.float32)  # squares of random brightness
        return cells[(v // 4).astype(int) % 64, (u // 4).astype(int) % 64]
    return numpy.zeros_like(u)  # plain


def blob(random, picture, labels, size):
    """Draws one over what is there: a star-shaped outline, bent by some waves."""
    radius = random.uniform(22, 70)
    cy, cx = random.uniform(-0.5 * radius, size + 0.5 * radius, 2)
    reach = 1.5 * radius
    top, bottom = (int(numpy.clip(t, 0, size)) for t in (cy - reach, cy + reach + 1))
    left, right = (int(numpy.clip(t, 0, size)) for t in (cx - reach, cx + reach + 1))
    if bottom <= top or right <= left:
        return
    y, x = numpy.meshgrid(numpy.arange(top, bottom, dtype=numpy.float32) - cy, numpy.arange(left, right, dtype=numpy.float32) - cx, indexing="ij")
    angle = numpy.arctan2(y, x)
    outline = sum(random.uniform(-0.13, 0.13) * numpy.cos(k * angle + random.uniform(0, 6.3)) for k in (2, 3, 5))
    inside = radius * (1 + outline) - numpy.hypot(y, x)
    alpha = numpy.clip(0.5 + 0.8 * inside, 0, 1).astype(numpy.float32)
    hue, kind, turned = random.integers(len(HUES)), random.integers(TEXTURES), random.uniform(0, 6.3)
    pattern = texture(random, kind, numpy.cos(turned) * x + numpy.sin(turned) * y, numpy.cos(turned) * y - numpy.sin(turned) * x)
    body = colour(random, HUES[hue], 0.05, (0.5, 0.9), (0.5, 0.75)) * (1 + random.uniform(0.3, 0.45) * pattern)
    part = picture[:, top:bottom, left:right]
    part += alpha * (body - part)
    labels[top:bottom, left:right][alpha > 0.5] = 1 + hue


def draw(random, size):
    """A picture, 3xSIZExSIZE between 0 and 1 in steps of 1/255, and the class of each pixel."""
    picture = colour(random, random.uniform(), 0, (0.0, 0.3), (0.3, 0.7)) + sum(
        random.uniform(0.02, 0.12) * clouds(random, 3, size, cell) for cell in (4, 12, 40))
    picture = picture.astype(numpy.float32)
    labels = numpy.zeros((size, size), numpy.int64)
    for _ in range(random.poisson(((size + 50) / 105) ** 2)):
        blob(random, picture, labels, size)
    picture *= 1 + 0.2 * clouds(random, 1, size, max(32, size // 2))
    picture += random.normal(0, random.uniform(0.005, 0.03), picture.shape).astype(numpy.float32)
    return numpy.round(picture.clip(0, 1) * 255) / 255, labels


def batch(random, count, size):
    pairs = [draw(random, size) for _ in range(count)]
    x = numpy.stack([(picture - MEAN) / DEVIATION for picture, _ in pairs]).astype(numpy.float32)
    return torch.from_numpy(x).contiguous(memory_format=torch.channels_last), torch.from_numpy(numpy.stack([labels for _, labels in pairs]))


def outputs(net, x):
    with torch.autocast("cpu", torch.bfloat16):  # much faster where the processor multiplies bf16
        return net(x).float()


def settle(net, random):
    """Gives the norms statistics of larger pictures in place of a running mean over the last crops."""
    norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # a plain average
        norm.reset_running_stats()
    net.train()
    with torch.no_grad():
        for _ in range(12):
            net(batch(random, 2, 192)[0])
    for norm in norms:
        norm.momentum = 0.1
    return net.eval()


def evaluate(net, pictures):
    """Mean IoU over the classes, IoU of the foreground, share of right pixels."""
    both, either = numpy.zeros(21), numpy.zeros(21)
    fore_both = fore_either = right = pixels = 0
    with torch.no_grad():
        for picture, labels in pictures:
            x = torch.from_numpy((picture - MEAN) / DEVIATION)[None].contiguous(memory_format=torch.channels_last)
            found = outputs(net, x)[0].argmax(0).numpy()
            for k in range(21):
                both[k] += ((found == k) & (labels == k)).sum()
                either[k] += ((found == k) | (labels == k)).sum()
            fore_both += ((found > 0) & (labels > 0)).sum()
            fore_either += ((found > 0) | (labels > 0)).sum()
            right, pixels = right + (found == labels).sum(), pixels + labels.size
    there = either > 0
    return (both[there] / either[there]).mean(), fore_both / max(1, fore_either), right / pixels


def train(net, minutes, random, stopped):
    start, budget, step = time.process_time(), 60 * minutes, 0
    optimiser = torch.optim.AdamW(net.parameters(), weight_decay=1e-3)
    mean = 3.0
    while True:
        share = (time.process_time() - start) / budget
        if share >= 1 or stopped:
            return step
        # Small crops while the network learns what there is, larger ones for the rest.
        count, size = (8, 64) if share < 0.4 else (4, 96) if share < 0.85 else (4, 128)
        for group in optimiser.param_groups:
            group["lr"] = 1.5e-3 * min(1, (step + 1) / 40) * (0.5 + 0.5 * numpy.cos(numpy.pi * share)) + 1e-6
        x, y = batch(random, count, size)
        loss = F.cross_entropy(outputs(net, x), y)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        step += 1
        mean += (float(loss) - mean) / 20
        if step % 25 == 0:
            print(f"{time.process_time() - start:6.0f} s, step {step}: loss {mean:.3f}", flush=True)


def save(folder, name, picture, labels=None):
    folder.mkdir(parents=True, exist_ok=True)
    pixels = numpy.round(picture.transpose(1, 2, 0) * 255).astype(numpy.uint8)
    (folder / f"{name}.ppm").write_bytes(b"P6\n%d %d\n255\n" % pixels.shape[1::-1] + pixels.tobytes())
    if labels is not None:
        beside = folder.with_name(folder.name + "_labels")
        beside.mkdir(parents=True, exist_ok=True)
        (beside / f"{name}.pgm").write_bytes(b"P5\n%d %d\n255\n" % labels.shape[::-1] + labels.astype(numpy.uint8).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=6, help="of CPU time")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--calibration", type=int, default=4, help="pictures for calibration")
    parser.add_argument("--held", type=int, default=6, help="pictures to check on")
    parser.add_argument("--check", action="store_true", help="a narrow network and few steps")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = UNet(21, base=8 if args.check else 64).to(memory_format=torch.channels_last)
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(True))
    steps = train(net, 0.05 if args.check else args.minutes, numpy.random.default_rng(0), stopped)
    settle(net, numpy.random.default_rng(1))
    pictures = [draw(numpy.random.default_rng(100 + k), args.size) for k in range(args.calibration + args.held)]
    held = pictures[args.calibration:]
    classes, foreground, right = evaluate(net, held)
    args.outdir.mkdir(parents=True, exist_ok=True)
    name = "unet64_shapes"
    write_onnx(net.to(memory_format=torch.contiguous_format), torch.zeros(1, 3, args.size, args.size), args.outdir / f"{name}.onnx", 17)
    (args.outdir / f"{name}.yaml").write_text(SPEC)
    for k, (picture, labels) in enumerate(pictures):
        if k < args.calibration:
            save(args.outdir / name / "calibration", f"{k:02}", picture)
        else:
            save(args.outdir / name / "held", f"{k:02}", picture, labels)
    print(f"{args.outdir / name}.onnx: {steps} steps; on {len(held)} pictures that it never saw: mean IoU {classes:.4f}, IoU of the foreground {foreground:.4f}, right pixels {100 * right:.2f} %")


if __name__ == "__main__":
    main()
