#!/usr/bin/env python3
"""Exports the segmentation networks that the benchmarks and agreement checks use, as ONNX with random weights.

    export_models.py OUTDIR [--models lraspp_mnv3,unet64] [--size 512] [--opset 17] [--classes 21] [--dynamic-batch]

Needs torch and torchvision, and with newer versions onnxscript: build/peers has them (bench/peers/setup), or Debian's python3-torch and python3-torchvision.

Speed does not depend on the values of weights, but two things about them matter. Activations that grow or die from layer to
layer end in infinities, denormals or planes of zeros, which some engines run faster or slower than real ones; and a comparison
of outputs says nothing where they saturate. So convolutions get He initialisation and every batch norm takes its statistics
from random pictures, after which activations are of order one in every layer. A seed makes the files reproducible.
"""
import argparse
import inspect
import pathlib

import torch
import torchvision.models.segmentation as zoo
from torch import nn
from torch.nn import functional as F
from torchvision.models.resnet import Bottleneck


class OutputOnly(nn.Module):
    """torchvision's segmentation networks return a dictionary; an exported graph has the one output."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class UNet(nn.Module):
    """The classic U-Net: four levels down by max pooling, up again with skip concatenations. Padding keeps the size."""

    def __init__(self, classes, base=64, bilinear=False):
        super().__init__()
        width = [base << level for level in range(5)]
        self.down = nn.ModuleList(double_conv(3 if k == 0 else width[k - 1], width[k]) for k in range(5))
        self.up, self.merge = nn.ModuleList(), nn.ModuleList()
        for k in reversed(range(4)):
            if bilinear:
                self.up.append(nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                                             nn.Conv2d(width[k + 1], width[k], 1)))
            else:
                self.up.append(nn.ConvTranspose2d(width[k + 1], width[k], 2, stride=2))
            self.merge.append(double_conv(2 * width[k], width[k]))
        self.head = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        skips = []
        for k, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if k else x)
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


def from_zoo(name):
    return lambda classes: OutputOnly(getattr(zoo, name)(weights=None, weights_backbone=None, num_classes=classes))


MODELS = {
    "lraspp_mnv3": from_zoo("lraspp_mobilenet_v3_large"),
    "dlv3_mnv3": from_zoo("deeplabv3_mobilenet_v3_large"),
    "dlv3_r50": from_zoo("deeplabv3_resnet50"),
    "fcn_r50": from_zoo("fcn_resnet50"),
    "unet64": lambda classes: UNet(classes),
    "unet64_bilinear": lambda classes: UNet(classes, bilinear=True),
    "unet16": lambda classes: UNet(classes, base=16),
}


def calibrated(make, pictures, seed=0):
    """The network with He-initialised convolutions and batch norm statistics from random pictures (called for each of two passes); in eval mode."""
    torch.manual_seed(seed)
    net = make()
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.uniform_(module.bias, -0.1, 0.1)
    for norm in norms:
        nn.init.uniform_(norm.weight, 0.8, 1.2)
        nn.init.uniform_(norm.bias, -0.1, 0.1)
        norm.momentum = None  # a plain average over the calibration pictures
        norm.reset_running_stats()
    for module in net.modules():
        # Residual branches of trained networks change little. With branches as large as the trunk, fifty layers make a hundred units in the last
        # place of one, in any engine.
        if isinstance(module, Bottleneck):
            nn.init.uniform_(module.bn3.weight, 0.2, 0.4)
    net.train()
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.eval()
    if norms:
        with torch.no_grad():
            for _ in range(2):
                net(*pictures())
    return net.eval()


def variation():
    """Contrast and brightness of four pictures: they differ, else the norm behind a global pool divides by almost nothing."""
    return torch.rand(4, 1, 1, 1) + 0.5, torch.randn(4, 3, 1, 1)


def random_pictures():
    contrast, brightness = variation()
    return (torch.randn(4, 3, 128, 128) * contrast + brightness,)


def write_onnx(net, x, path, opset, axes=None):
    # Newer PyTorch has two exporters; the older one is the one that all versions have, and it writes one file.
    script = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(net, (x,), str(path), opset_version=opset, input_names=["input"], output_names=["output"],
                      do_constant_folding=True, dynamic_axes=axes, **script)


def export(name, path, args):
    net = calibrated(lambda: MODELS[name](args.classes), random_pictures, args.seed)
    x = torch.randn(1, 3, args.size, args.size)
    with torch.no_grad():
        y = net(x)
    if not bool(torch.isfinite(y).all()):
        raise SystemExit(f"{name}: the output is not finite")
    axes = {"input": {0: "batch"}, "output": {0: "batch"}} if args.dynamic_batch else None
    write_onnx(net, x, path, args.opset, axes)
    params = sum(p.numel() for p in net.parameters())
    print(f"{path}: opset {args.opset}, input {list(x.shape)}, output {list(y.shape)}, {params / 1e6:.2f} M parameters, "
          f"largest output {float(y.abs().max()):.3g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Export segmentation networks with random weights as ONNX.")
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("--models", default="lraspp_mnv3,dlv3_mnv3,dlv3_r50,unet64",
                        help="comma-separated, of: " + ", ".join(MODELS))
    parser.add_argument("--size", type=int, default=512, help="height and width of the input (a multiple of 16)")
    parser.add_argument("--opset", type=int, default=17, help="ONNX opset, 11 to 17")
    parser.add_argument("--classes", type=int, default=21)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dynamic-batch", action="store_true", help="leave the leading dimension unknown")
    args = parser.parse_args()
    if args.size % 16 or args.size < 32:
        parser.error(f"--size {args.size}: must be a multiple of 16, at least 32")
    names = args.models.split(",")
    for name in names:
        if name not in MODELS:
            parser.error(f"unknown model '{name}'; known: {', '.join(MODELS)}")
    args.outdir.mkdir(parents=True, exist_ok=True)
    for name in names:
        export(name, args.outdir / f"{name}.onnx", args)


if __name__ == "__main__":
    main()
