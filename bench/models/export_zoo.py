#!/usr/bin/env python3
"""Exports the networks of zoo.py: OUT/NAME.EXPORTER.OPSET.SHAPES/model.onnx and, beside it, run_{0,1,2}.npz with inputs by name.

    export_zoo.py OUT [--networks NAME,…] [--opsets 11,13,17] [--exporters script,dynamo] [--shapes fixed,dynamic] [--half]

Needs torch and torchvision; the exporter `dynamo` torch 2.5 or newer with onnxscript. The opset `newest` is the newest that this torch's exporter offers. Combinations that an
exporter refuses are listed with its reason and left out. bench/exports.py runs this.
"""
import argparse
import inspect
import pathlib
import sys
import warnings

import numpy
import torch

from zoo import NETWORKS


def newest(exporter):
    from torch.onnx import _constants  # nothing public says it
    limit = getattr(_constants, "ONNX_TORCHSCRIPT_EXPORTER_MAX_OPSET", _constants.ONNX_MAX_OPSET)
    return limit if exporter == "script" else _constants.ONNX_MAX_OPSET


def export(entry, net, inputs, path, exporter, opset, dynamic):
    axes = entry.dynamic_axes() if dynamic else None
    options = dict(input_names=list(entry.inputs), output_names=list(entry.outputs), opset_version=opset)
    new = "dynamo" in inspect.signature(torch.onnx.export).parameters
    if exporter == "dynamo":
        shapes = None
        if dynamic:
            dim = getattr(torch.export.Dim, "AUTO")
            shapes = tuple({k: dim for k in axes.get(name, {})} for name in entry.inputs)
        torch.onnx.export(net, inputs, str(path), dynamo=True, dynamic_shapes=shapes, external_data=False, verbose=False, **options)
    else:
        torch.onnx.export(net, inputs, str(path), dynamic_axes=axes, do_constant_folding=True, **({"dynamo": False} if new else {}), **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--opsets", default="11,13,17,newest")
    parser.add_argument("--exporters", default="script")
    parser.add_argument("--shapes", default="fixed,dynamic")
    parser.add_argument("--half", action="store_true", help="half precision: weights, inputs and outputs")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in args.networks.split(","):
        entry = NETWORKS[name]
        net = entry.network()
        runs = entry.tensors()
        if args.half:
            net = net.half()
            runs = [tuple(t.half() if t.is_floating_point() else t for t in run) for run in runs]
        for exporter in args.exporters.split(","):
            opsets = {newest(exporter) if opset == "newest" else int(opset) for opset in args.opsets.split(",")}
            for opset in sorted(opsets):
                if exporter not in entry.exporters or opset < entry.opset:
                    continue
                for shapes in args.shapes.split(","):
                    folder = args.out / f"{name}.{exporter}{'.half' if args.half else ''}.{opset}.{shapes}"
                    folder.mkdir(parents=True, exist_ok=True)
                    try:
                        export(entry, net, runs[0], folder / "model.onnx", exporter, opset, shapes == "dynamic")
                    except Exception as error:
                        (folder / "model.onnx").unlink(missing_ok=True)
                        print(f"{folder.name}: not exported: {str(error).splitlines()[0][:150] if str(error) else type(error).__name__}", flush=True)
                        folder.rmdir()
                        continue
                    for k, run in enumerate(runs if shapes == "dynamic" else runs[:1]):
                        numpy.savez(folder / f"run_{k}.npz", **{n: t.numpy() for n, t in zip(entry.inputs, run)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
