#!/usr/bin/env python3
"""What PyTorch's exporters write, beside ONNX Runtime: the networks of bench/models/zoo.py, several operator sets, fixed and dynamic shapes.

    bench/exports.py [--networks segformer,rvm_factor] [--torch PYTHON…] [--opsets 11,13,17,newest] [--exporters script,dynamo]
                     [--shapes fixed,dynamic] [--variants plain,simplified,half,half_ends,newest] [--isa avx2] [--executor planned]

Each --torch is a Python with torch and torchvision that exports (bench/models/export_zoo.py); this script itself needs onnx, onnxruntime and numpy, and for some
variants onnxsim and onnxconverter-common. A case is a folder in the backend-test layout whose outputs are ONNX Runtime's; networks with dynamic shapes run on size A, size B and size A again.
`saccade verify` must find every output within 1e-4 of its largest value (half precision: 4e-3), and for equal inputs equal bits.
Variants of every exported file: `simplified` as onnxsim leaves it, `half` and `half_ends` in half precision by onnxconverter-common (all, or inside only), `newest`
converted to the newest operator set that ONNX Runtime knows; `torch_half` is exported from a network in half precision.
    --keep DIR    write cases there (and take those that are there as they are) instead of to a temporary folder
Exit status: 0 everything agrees; 1 something does not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOUND, HALF_BOUND = 1e-4, 4e-3
NEWEST = 23


def variant(model, kind):
    if kind == "simplified":
        import onnxsim
        return onnxsim.simplify(model)[0]
    if kind in ("half", "half_ends"):
        from onnxconverter_common import float16
        return float16.convert_float_to_float16(model, keep_io_types=kind == "half_ends", op_block_list=["Resize", "GridSample", "RoiAlign"])
    if kind == "newest":
        return onnx.version_converter.convert_version(model, NEWEST)
    return model


def write_case(source, folder, kind):
    """A case of an exported model and its runs; nothing where the exporter's tools or ONNX Runtime refuse the model."""
    try:
        model = variant(onnx.load(source / "model.onnx"), kind)
        folder.mkdir(parents=True)
        onnx.save(model, folder / "model.onnx")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        types = {i.name: i.type for i in session.get_inputs()}
        for k, file in enumerate(sorted(source.glob("run_*.npz"))):
            run = {name: x.astype(numpy.float16) if types.get(name) == "tensor(float16)" else x for name, x in numpy.load(file).items()}
            run = {name: x for name, x in run.items() if name in types}
            results = session.run(None, run)
            data = folder / f"test_data_set_{k}"
            data.mkdir()
            for kind_of, tensors in (("input", run), ("output", dict(zip((o.name for o in session.get_outputs()), results)))):
                for i, (name, x) in enumerate(tensors.items()):
                    (data / f"{kind_of}_{i}.pb").write_bytes(numpy_helper.from_array(numpy.asarray(x), name).SerializeToString())
    except Exception as error:
        print(f"{folder.name}: no case: {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True)
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        if folder.exists():
            folder.rmdir()
        return False
    return True


def verify(arguments, folder, bound, *options):
    """Why the case fails, or ''."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([arguments.saccade, "verify", folder, "--rtol", "0", "--atol", "0", "--peak-tol", str(bound), "--json", file.name, "--overwrite", *options],
                              capture_output=True, text=True)
        if done.returncode not in (0, 1) or not (text := pathlib.Path(file.name).read_text()):
            return f"exit status {done.returncode}: {done.stderr.strip()}"
        case = json.loads(text)[0]
        return "" if case["outcome"] == "passed" else case["reason"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks")
    parser.add_argument("--torch", nargs="+", default=[sys.executable])
    parser.add_argument("--opsets", default="11,13,17,newest")
    parser.add_argument("--exporters", default="script")
    parser.add_argument("--shapes", default="fixed,dynamic")
    parser.add_argument("--variants", default="plain")
    parser.add_argument("--isa", default="avx2")
    parser.add_argument("--executor", default="planned")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--saccade", default=str(ROOT / "build/release/bin/saccade"))
    arguments = parser.parse_args()
    runs = [("planned", isa) for isa in arguments.isa.split(",")] if "planned" in arguments.executor else []
    runs += [("reference", None)] if "reference" in arguments.executor else []
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as text:
        root = arguments.keep or pathlib.Path(text)
        for k, python in enumerate(arguments.torch):
            exported = root / f"exported{k}"
            if not exported.exists():
                extra = [f"--networks={arguments.networks}"] if arguments.networks else []
                for half in ([], ["--half"]) if "torch_half" in arguments.variants.split(",") else ([],):
                    subprocess.run([python, ROOT / "bench/models/export_zoo.py", exported, f"--opsets={arguments.opsets}",
                                    f"--exporters={arguments.exporters}", f"--shapes={arguments.shapes}", *extra, *half], check=True)
            for source in sorted(exported.iterdir()):
                for kind in [kind for kind in arguments.variants.split(",") if kind != "torch_half"]:
                    if ".half." in source.name and kind != "plain":
                        continue
                    folder = root / f"cases{k}" / (source.name if kind == "plain" else f"{source.name}.{kind}")
                    if not folder.exists() and not write_case(source, folder, kind):
                        continue
                    for executor, isa in runs:
                        reason = verify(arguments, folder, HALF_BOUND if "half" in folder.name else BOUND, "--executor", executor,
                                        *(["--isa", isa] if isa else []))
                        passed, failed = passed + (not reason), failed + bool(reason)
                        if reason:
                            print(f"{folder.name} {executor} {isa or ''}: {reason}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
