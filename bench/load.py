#!/usr/bin/env python3
"""How long does it take to load a large model, and how much memory at the most?

    bench/load.py [--rounds 5] [--bench build/release/bin/bench_load]

Makes models of 100 MB under build/bench: ONNX with its weights inside and in an external file, and, where the Python that runs this has
ai_edge_litert, TFLite with weights of single and half precision and of 8 bits. Prints, for each, the time of Model::load
beside that of reading the file from the page cache and hashing it once, and the peak of memory beside the file's size. Bounds: 3 and 1.3.
Exit status: 0 all within; 1 one is not.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHANNELS, LAYERS = 1024, 24  # 1x1 convolutions: 24 x 4 MiB
RAW, EXTERNAL = 9, 13


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def onnx_model(path, external):
    """A chain of 1x1 convolutions, written as protobuf by hand."""
    weights = bytes(CHANNELS * CHANNELS * 4)
    graph = b""
    for i in range(LAYERS):
        name = f"weights_{'x' * (i % 4)}{i}"  # names of different lengths: not all weights are aligned
        attribute = block(1, "kernel_shape") + number(8, 1) + number(8, 1) + number(20, 7)
        graph += block(1, block(1, f"v{i}") + block(1, name) + block(2, f"v{i + 1}") + block(4, "Conv") + block(5, attribute))
        tensor = b"".join(number(1, d) for d in (CHANNELS, CHANNELS, 1, 1)) + number(2, 1) + block(8, name)
        if external:
            entries = {"location": path.name + ".data", "offset": str(i * len(weights)), "length": str(len(weights))}
            tensor += b"".join(block(EXTERNAL, block(1, k) + block(2, v)) for k, v in entries.items()) + number(14, 1)
        else:
            tensor += block(RAW, weights)
        graph += block(5, tensor)
    shape = b"".join(block(1, number(1, d)) for d in (1, CHANNELS, 4, 4))
    value = lambda name: block(1, name) + block(2, block(1, number(1, 1) + block(2, shape)))
    graph += block(11, value("v0")) + block(12, value(f"v{LAYERS}"))
    path.write_bytes(number(1, 8) + block(7, graph) + block(8, number(2, 13)))
    if external:
        pathlib.Path(str(path) + ".data").write_bytes(weights * LAYERS)


def tflite_model(path, kind):
    import flatbuffers
    import numpy
    from ai_edge_litert import schema_py_generated as schema
    dtype, code = {"float": (numpy.float32, 0), "half": (numpy.float16, 1), "bytes": (numpy.int8, 9)}[kind]
    layers = LAYERS * 4 // numpy.dtype(dtype).itemsize
    model = schema.ModelT()
    model.version, model.buffers, graph = 3, [schema.BufferT()], schema.SubGraphT()

    def opcode(builtin):
        op = schema.OperatorCodeT()
        op.deprecatedBuiltinCode = op.builtinCode = builtin
        op.version = 1
        return op

    def tensor(name, shape, kind, data=None, scale=None):
        t = schema.TensorT()
        t.name, t.shape, t.type, t.buffer = name, list(shape), kind, 0
        if data is not None:
            model.buffers.append(schema.BufferT())
            model.buffers[-1].data = data
            t.buffer = len(model.buffers) - 1
        if scale is not None:
            t.quantization = schema.QuantizationParametersT()
            t.quantization.scale, t.quantization.zeroPoint = [scale], [0]
        graph.tensors.append(t)
        return len(graph.tensors) - 1

    def operator(index, inputs, output):
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs, op.outputs = index, inputs, [output]
        graph.operators.append(op)
        return op

    model.operatorCodes = [opcode(3), opcode(6)]  # CONV_2D, DEQUANTIZE
    graph.tensors, graph.operators, model.subgraphs = [], [], [graph]
    data = numpy.zeros(CHANNELS * CHANNELS * numpy.dtype(dtype).itemsize, numpy.uint8)
    x = first = tensor("v0", (1, 4, 4, CHANNELS), 0)
    for i in range(layers):
        w = tensor(f"w{i}", (CHANNELS, 1, 1, CHANNELS), code, data, 0.01 if kind == "bytes" else None)
        if kind == "half":
            wide = tensor(f"wide{i}", (CHANNELS, 1, 1, CHANNELS), 0)
            operator(1, [w], wide)
            w = wide
        y = tensor(f"v{i + 1}", (1, 4, 4, CHANNELS), 0)
        op = operator(0, [x, w, -1], y)
        op.builtinOptionsType, op.builtinOptions = schema.BuiltinOptions.Conv2DOptions, schema.Conv2DOptionsT()
        op.builtinOptions.strideW = op.builtinOptions.strideH = 1
        x = y
    graph.inputs, graph.outputs = [first], [x]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())


def run(program, what, path):
    milliseconds, memory = subprocess.run([program, what, path], check=True, capture_output=True, text=True).stdout.split()
    return float(milliseconds), int(memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bench", default=str(ROOT / "build/release/bin/bench_load"))
    arguments = parser.parse_args()
    folder = ROOT / "build/bench/load"
    folder.mkdir(parents=True, exist_ok=True)
    models = []
    for external in (False, True):
        path = folder / ("external.onnx" if external else "inside.onnx")
        onnx_model(path, external)
        models.append((path, pathlib.Path(str(path) + ".data") if external else path))
    try:
        for kind in ("float", "half", "bytes"):
            tflite_model(folder / f"{kind}.tflite", kind)
            models.append((folder / f"{kind}.tflite",) * 2)
    except ImportError:
        print("no TFLite: this Python has no ai_edge_litert")
    good = True
    print(f"| {'model':<16} | MB  | load, ms | read and hash, ms | ratio | peak / file |")
    print("|---|---|---|---|---|---|")
    for path, weights in models:
        rounds = [(run(arguments.bench, "model", path), run(arguments.bench, "file", weights)) for _ in range(arguments.rounds)]
        ratio = statistics.median(load[0] / file[0] for load, file in rounds)
        memory = max(load[1] for load, _ in rounds) / weights.stat().st_size
        good = good and ratio <= 3 and memory <= 1.3
        print(f"| {path.name:<16} | {weights.stat().st_size / 1e6:.0f} | {statistics.median(r[0][0] for r in rounds):.0f} "
              f"| {statistics.median(r[1][0] for r in rounds):.0f} | {ratio:.2f} | {memory:.2f} |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
