#!/usr/bin/env python3
"""All TFLite models of the PyPI wheel mediapipe==0.10.21 beside an independent runtime.

    bench/tflite_agreement.py [--isa avx2,portable] [--executor planned,reference] [MODEL...]

Fetches the wheel with pip (checksum verified), takes its 14 models, and runs each on the sample picture of docs/images: with saccade and
with LiteRT.
face_landmark_with_attention needs operators that only MediaPipe's runtime has; it runs inside a MediaPipe graph. A line a model: the largest
difference of any output relative to that output's largest value, which must stay below 1e-4. Where it does not, saccade's reference executor, which sums in double precision, decides: it
passes if the other runtime is itself further than that from it and at most 0.2 % of the values differ by more (one output of pose_landmark_full
multiplies rounding errors by a thousand: half a unit in the last place of the input moves single pixels by 4e-5). MODEL: names of models without their
suffix. Needs the preset `release`, Python 3.9 to 3.12 with venv, and the network for the first time; everything goes under build/tflite.

    --litert PYTHON, --mediapipe PYTHON    use these instead of environments under build/tflite
Exit status: 0 everything agrees; 1 something does not.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "tflite"
WHEEL = "mediapipe-0.10.21-cp311-cp311-manylinux_2_28_x86_64.whl"
WHEEL_SHA256 = "05dc4a9e593655a79558d05d6227d31018c2537a4bd3362b51e230cf22aecfe3"
MODELS = 14
BOUND = 1e-4
ATTENTION = "face_landmark_with_attention"


def pip(python, *arguments):
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", *arguments], check=True,
                   stdout=subprocess.DEVNULL)


def environment(name, *packages):
    python = WORK / name / "bin" / "python"
    if not python.exists():
        print(f"making {python.parent.parent.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        pip(python, "install", "--quiet", *packages)
    return str(python)


def models():
    """Paths of the wheel's models, unpacked."""
    folder = WORK / "models"
    wheel = WORK / WHEEL
    if not wheel.exists():
        print("fetching the package mediapipe==0.10.21", flush=True)
        pip(sys.executable, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=311",
            "--implementation=cp", "--abi=cp311", "--platform=manylinux_2_28_x86_64", "--dest", WORK, "mediapipe==0.10.21")
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        sys.exit(f"{wheel}: has another checksum than expected; delete it and try again")
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.endswith(".tflite"):
                (folder / pathlib.PurePosixPath(member).name).write_bytes(archive.read(member))
    return sorted(folder.glob("*.tflite"))


def mediapipe_outputs(model, picture, target):
    """Runs in MediaPipe's Python: a network inside a graph, since nothing else gets at its custom operators."""
    import mediapipe
    import numpy
    from mediapipe.python import packet_creator, packet_getter
    from mediapipe.python._framework_bindings import calculator_graph
    pixels = numpy.load(picture)
    names = [f"out_{i}" for i in range(7)]
    graph = calculator_graph.CalculatorGraph(graph_config=f"""
      input_stream: "picture"
      output_stream: "in"
      {' '.join(f'output_stream: "{name}"' for name in names)}
      node {{
        calculator: "ImageToTensorCalculator" input_stream: "IMAGE:picture" output_stream: "TENSORS:tensors"
        options {{ [mediapipe.ImageToTensorCalculatorOptions.ext] {{
          output_tensor_width: {pixels.shape[1]} output_tensor_height: {pixels.shape[0]} keep_aspect_ratio: false
          output_tensor_float_range {{ min: 0 max: 1 }} }} }} }}
      node {{ calculator: "TensorsToFloatsCalculator" input_stream: "TENSORS:tensors" output_stream: "FLOATS:in" }}
      node {{
        calculator: "TfLiteCustomOpResolverCalculator" output_side_packet: "OP_RESOLVER:resolver"
        options {{ [mediapipe.TfLiteCustomOpResolverCalculatorOptions.ext] {{ use_gpu: false }} }} }}
      node {{
        calculator: "InferenceCalculator" input_side_packet: "OP_RESOLVER:resolver"
        input_stream: "TENSORS:tensors" output_stream: "TENSORS:results"
        options {{ [mediapipe.InferenceCalculatorOptions.ext] {{ model_path: "{model}" delegate {{ xnnpack {{}} }} }} }} }}
      node {{
        calculator: "SplitTensorVectorCalculator" input_stream: "results"
        {' '.join(f'output_stream: "result_{i}"' for i in range(len(names)))}
        options {{ [mediapipe.SplitVectorCalculatorOptions.ext] {{
          {' '.join(f'ranges: {{ begin: {i} end: {i + 1} }}' for i in range(len(names)))} }} }} }}
      {' '.join(f'''node {{ calculator: "TensorsToFloatsCalculator" input_stream: "TENSORS:result_{i}"
        output_stream: "FLOATS:{name}" }}''' for i, name in enumerate(names))}""")
    seen = {}
    for name in ["in", *names]:
        graph.observe_output_stream(
            name, lambda stream, packet: seen.__setitem__(stream, numpy.array(packet_getter.get_float_list(packet), numpy.float32)))
    graph.start_run()
    frame = packet_creator.create_image_frame(image_format=mediapipe.ImageFormat.SRGB, data=pixels)
    graph.add_packet_to_input_stream("picture", frame.at(0))
    graph.wait_until_idle()
    graph.close()
    numpy.savez(target, **seen)


def pictures(numpy, height, width):
    """The project's sample picture: whole, and the head alone."""
    from PIL import Image
    whole = Image.open(ROOT / "docs/images/astronaut.jpg").convert("RGB")
    for box in ((0, 0, 512, 512), (128, 0, 328, 230)):
        yield numpy.ascontiguousarray(whole.resize((width, height), Image.Resampling.BILINEAR, box=box))


def litert_outputs(model, x):
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(str(model), num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(o["index"]) for o in interpreter.get_output_details()]


def saccade_outputs(numpy, program, model, x, names, isa, executor):
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(f"{folder}/x.npy", x)
        subprocess.run([program, "infer", model, "--input", f"{folder}/x.npy", "--output", f"{folder}/out", "--overwrite", "--executor", executor,
                        *(["--isa", isa] if executor == "planned" else [])], check=True, stdout=subprocess.DEVNULL)
        return [numpy.load(f"{folder}/out/{name.replace('/', '_')}.npy") for name in names]


def output_names(program, model):
    import json
    described = subprocess.run([program, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    inspected = json.loads(described)
    return inspected["inputs"][0]["shape"], [o["name"] for o in inspected["outputs"]]


def expected_outputs(numpy, arguments, model, picture, x):
    if model.stem != ATTENTION:
        return x, litert_outputs(model, x)
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(f"{folder}/picture.npy", picture)
        subprocess.run([arguments.mediapipe, __file__, "--run-mediapipe", model, f"{folder}/picture.npy", f"{folder}/out.npz"],
                       check=True, stderr=subprocess.DEVNULL)
        seen = numpy.load(f"{folder}/out.npz")
        return seen["in"].reshape(x.shape), [seen[f"out_{i}"] for i in range(len(seen.files) - 1)]


def compare(arguments, paths):
    import numpy
    failed = 0
    print(f"{'model':<34} {'executor':<10} {'isa':<9} {'largest relative difference':<28} bound {BOUND}")
    for model in paths:
        shape, names = output_names(arguments.saccade, model)
        cases = []
        for picture in pictures(numpy, *shape[1:3]):
            x = (picture / numpy.float32(255)).astype(numpy.float32)[None]
            x, wanted = expected_outputs(numpy, arguments, model, picture, x)
            exact = saccade_outputs(numpy, arguments.saccade, model, x, names, "-", "reference")
            cases.append((x, wanted, exact))
        for executor in arguments.executor.split(","):
            for isa in arguments.isa.split(",") if executor == "planned" else ["-"]:
                worst, where, good, note = 0.0, "", True, ""
                for x, wanted, exact in cases:
                    found = saccade_outputs(numpy, arguments.saccade, model, x, names, isa, executor)
                    for name, a, b, c in zip(names, found, wanted, exact):
                        difference = distance(numpy, a, b)
                        worst, where = max((worst, where), (difference, name))
                        if difference <= BOUND:
                            continue
                        ours, theirs = distance(numpy, a, c), distance(numpy, b, c)
                        note = f"at {name}; sums in double precision: {ours:.2g} from saccade, {theirs:.2g} from the other"
                        b64 = numpy.asarray(b, numpy.float64)
                        beyond = float((numpy.abs(a.reshape(b64.shape) - b64) > BOUND * numpy.abs(b64).max()).mean())
                        note += f"; {beyond:.2%} of its values differ by more"
                        good = good and theirs > BOUND and beyond <= 0.002
                failed += not good
                print(f"{model.stem:<34} {executor:<10} {isa:<9} {worst:<28.3g} {'ok' if good else 'FAIL'} {note}", flush=True)
    return failed


def distance(numpy, a, b):
    """Largest difference, relative to the largest value."""
    b = numpy.asarray(b, numpy.float64)
    return float(numpy.abs(numpy.reshape(a, b.shape) - b).max() / (numpy.abs(b).max() or 1.0))


def main():
    if sys.argv[1:2] == ["--run-mediapipe"]:
        return mediapipe_outputs(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--isa", default="avx2")
    parser.add_argument("--executor", default="planned")
    parser.add_argument("--litert", metavar="PYTHON")
    parser.add_argument("--mediapipe", metavar="PYTHON")
    parser.add_argument("--saccade", default=str(ROOT / "build/release/bin/saccade"))
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    arguments.litert = arguments.litert or environment("litert", "ai-edge-litert", "numpy", "pillow")
    if "SACCADE_IN_LITERT" not in os.environ:
        os.execve(arguments.litert, [arguments.litert, __file__, *sys.argv[1:], "--litert", arguments.litert],
                  os.environ | {"SACCADE_IN_LITERT": "1"})
    paths = models()
    if len(paths) != MODELS:
        sys.exit(f"the wheel holds {len(paths)} models, expected {MODELS}")
    paths = [path for path in paths if not arguments.models or path.stem in arguments.models]
    if any(path.stem == ATTENTION for path in paths) and not arguments.mediapipe:
        arguments.mediapipe = environment("mediapipe", "mediapipe==0.10.21")
    return 1 if compare(arguments, paths) else 0


if __name__ == "__main__":
    sys.exit(main())
