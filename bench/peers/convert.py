#!/usr/bin/env python3
"""Makes what each peer reads out of the networks' ONNX files under build/models (see networks.py).

    convert.py FOLDER [NETWORK…]

What exists is kept. A converter that fails leaves a log beside the missing file and does not stop the others. Run by `setup` with the
peers' Python.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import networks

PICTURES = 4  # to calibrate int8 with
BIN = pathlib.Path(sys.executable).parent


def fold(source, target):
    """Folds what is constant, shape arithmetic included, and keeps to operators of ONNX."""
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), settings, providers=["CPUExecutionProvider"])


class Pictures:
    """Inputs to calibrate with: the network's own, else the comparison's, brighter and darker."""

    def __init__(self, network, folder, name):
        import numpy
        own = networks.calibration_inputs(network, folder)
        if own:
            self.feeds = iter([{name: numpy.array(values, numpy.float32).reshape(network.shape)} for values in own[:PICTURES]])
            return
        x = numpy.array(networks.input_of(network), numpy.float32).reshape(*network.shape[2:], -1).transpose(2, 0, 1)[None]
        self.feeds = iter([{name: numpy.ascontiguousarray(numpy.roll(x, 37 * k, 3) * (0.8 + 0.15 * k))} for k in range(PICTURES)])

    def get_next(self):
        return next(self.feeds, None)


def quantise(network, models, source, target):
    """Per-channel weights, activations by their range: what ONNX Runtime and OpenVINO read as quantised networks."""
    import onnxruntime
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference
    name = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"]).get_inputs()[0].name
    with tempfile.TemporaryDirectory() as folder:
        prepared = str(pathlib.Path(folder) / "prepared.onnx")
        shape_inference.quant_pre_process(str(source), prepared, skip_symbolic_shape=True)
        quantization.quantize_static(prepared, str(target), Pictures(network, models, name), quant_format=quantization.QuantFormat.QDQ,
                                     per_channel=True, activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8, calibrate_method=quantization.CalibrationMethod.MinMax)


def run_logged(command, log, **options):
    with open(log, "w") as sink:
        done = subprocess.run([str(part) for part in command], stdout=sink, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with status {done.returncode}")


def to_ncnn(network, source, target):
    """pnnx writes many files beside its input: in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(source, pathlib.Path(folder) / "network.onnx")
        shape = ",".join(map(str, network.shape))
        run_logged([BIN / "pnnx", "network.onnx", f"inputshape=[{shape}]", "fp16=0"], f"{target}.log", cwd=folder)
        made = pathlib.Path(folder) / "network.ncnn.param"
        if not made.is_file():
            raise RuntimeError("pnnx wrote no ncnn model")
        # It writes what it could not translate under the name it had, for somebody to finish.
        said = pathlib.Path(f"{target}.log").read_text(errors="replace").splitlines()
        if left := sorted({line.split()[1] for line in said if line.startswith("todo ")}):
            raise RuntimeError(f"pnnx cannot translate {', '.join(left)}")
        shutil.copy(made.with_suffix(".bin"), target.with_suffix(".bin"))
        shutil.copy(made, target)


def to_mnn(source, target, *options):
    import onnx
    # The converter itself: the command of that name installs a package and reports each use to its makers.
    mnnconvert = [sys.executable, "-c", "import sys, _tools; _tools.mnnconvert(sys.argv)"]
    run_logged([*mnnconvert, "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "saccade", *options],
               f"{target}.log")
    if not target.is_file():
        raise RuntimeError("mnnconvert wrote no file")
    graph = onnx.load(source, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    ends = [[v.name for v in graph.input if v.name not in stored], [v.name for v in graph.output]]
    pathlib.Path(f"{target}.names").write_text("".join(" ".join(names) + "\n" for names in ends))


def convert(network, folder):
    """Yields (file, what makes it)."""
    onnx, plain = network.file(folder, "onnx"), network.file(folder, "plain")
    yield plain, lambda: fold(onnx, plain)
    if network.int8:
        int8, mnn8 = network.file(folder, "int8"), network.file(folder, "mnn8")
        yield int8, lambda: quantise(network, folder, onnx, int8)
        yield mnn8, lambda: to_mnn(plain, mnn8, "--weightQuantBits", "8")
    ncnn, mnn = network.file(folder, "ncnn"), network.file(folder, "mnn")
    yield ncnn, lambda: to_ncnn(network, plain, ncnn)
    yield mnn, lambda: to_mnn(plain, mnn)


def main():
    parser = argparse.ArgumentParser(description="Convert the comparison's networks for each peer.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("networks", nargs="*")
    args = parser.parse_args()
    for network in networks.by_name(args.networks) if args.networks else networks.BY_DEFAULT:
        if not network.file(args.folder, "onnx").is_file():
            print(f"convert: {network.name}: no {network.file(args.folder, 'onnx')}", file=sys.stderr)
            continue
        for file, make in convert(network, args.folder):
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_file():
                continue
            reason = file.parent / f"{file.name}.reason"  # what run.py gives for the missing file
            reason.unlink(missing_ok=True)
            try:
                make()
                print(f"convert: {file.relative_to(args.folder)}", flush=True)
            except Exception as error:
                file.unlink(missing_ok=True)
                reason.write_text(" ".join(str(error).split())[:200] + "\n")
                with open(f"{file}.log", "a") as log:
                    log.write(f"{type(error).__name__}: {error}\n")
                print(f"convert: {file.relative_to(args.folder)} failed: {' '.join(str(error).split())[:200]}", flush=True)


if __name__ == "__main__":
    main()
