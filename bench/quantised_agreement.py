#!/usr/bin/env python3
"""Quantised networks beside ONNX Runtime: small U-Nets and an LR-ASPP-like network, QDQ and QOperator, by onnxruntime.quantization.

    bench/quantised_agreement.py [--isa avx2,portable] [--executor planned,reference] [--saccade PROGRAM]

Needs a Python with onnx, onnxruntime and numpy (onnxruntime.quantization asks for sympy too), and the preset `release`. A line a model: the
share of outputs within one step of the last quantisation, and of equal ones, of ONNX Runtime without its graph optimisations, and with them; one of the two must be at
least 99.9 % within a step (they differ from each other by more than either may from us; docs/numerics.md says where). Weights use 7 bits (reduce_range): with 8, ONNX Runtime's kernels for processors without
VNNI saturate sums of pairs at 16 bits and are far from what the model says.
Exit status: 0 everything agrees; 1 something does not.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZE = 64


class Net:
    """Composes a float network with reproducible random weights."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.initializers, self.count = [], [], 0

    def constant(self, array):
        self.count += 1
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(kind, list(inputs), [f"v{self.count}"], f"{kind}_{self.count}", **attributes))
        return f"v{self.count}"

    def conv(self, x, inputs, outputs, kernel=3, stride=1, group=1, relu=True):
        fan = inputs // group * kernel * kernel
        w = self.random.normal(0, (2 / fan) ** 0.5, (outputs, inputs // group, kernel, kernel)).astype(numpy.float32)
        b = self.random.normal(0, 0.1, outputs).astype(numpy.float32)
        y = self.op("Conv", x, self.constant(w), self.constant(b), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                    pads=[kernel // 2] * 4, group=group)
        return self.op("Relu", y) if relu else y

    def resize(self, x, factor):
        return self.op("Resize", x, "", self.constant(numpy.array([1, 1, factor, factor], numpy.float32)), mode="linear",
                       coordinate_transformation_mode="half_pixel")

    def model(self, output, channels):
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, channels, SIZE, SIZE])], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def unet(enlarge):
    net = Net(1)
    x, skips = "x", []
    for a, b in ((3, 16), (16, 32)):
        x = net.conv(net.conv(x, a, b), b, b)
        skips.append(x)
        x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.conv(x, 32, 64)
    for a, b in ((64, 32), (32, 16)):
        x = net.op("Concat", enlarge(net, net.conv(x, a, b, 1), b), skips.pop(), axis=1)
        x = net.conv(x, 2 * b, b)
    return net.model(net.conv(x, 16, 2, 1, relu=False), 2)


def transposed(net, x, channels):
    w = net.random.normal(0, (0.5 / channels) ** 0.5, (channels, channels, 2, 2)).astype(numpy.float32)
    return net.op("ConvTranspose", x, net.constant(w), kernel_shape=[2, 2], strides=[2, 2])


def lraspp():
    net = Net(2)
    low = x = net.conv("x", 3, 16, stride=2)
    for a, b, stride in ((16, 24, 2), (24, 40, 1)):
        y = net.conv(net.conv(x, a, 2 * b, 1), 2 * b, 2 * b, 5, stride, 2 * b)
        gate = net.op("GlobalAveragePool", y)
        gate = net.op("HardSigmoid", net.conv(net.conv(gate, 2 * b, b, 1), b, 2 * b, 1, relu=False), alpha=1 / 6, beta=0.5)
        x = net.conv(net.op("Mul", y, gate), 2 * b, b, 1, relu=False)
    x = net.op("Add", x, net.conv(x, 40, 40, 3, relu=False))
    gate = net.op("Sigmoid", net.conv(net.op("GlobalAveragePool", x), 40, 32, 1, relu=False))
    x = net.resize(net.op("Mul", net.conv(x, 40, 32, 1), gate), 2)
    x = net.op("Add", net.conv(x, 32, 5, 1, relu=False), net.conv(low, 16, 5, 1, relu=False))
    return net.model(net.resize(x, 2), 5)


def picture(seed):
    random = numpy.random.default_rng(seed)
    coarse = random.uniform(0, 1, (1, 3, SIZE // 8, SIZE // 8))
    fine = numpy.repeat(numpy.repeat(coarse, 8, 2), 8, 3) + random.normal(0, 0.05, (1, 3, SIZE, SIZE))
    return numpy.clip(fine, 0, 1).astype(numpy.float32)


class Calibration(CalibrationDataReader):
    def __init__(self):
        self.left = list(range(8))

    def get_next(self):
        return {"x": picture(100 + self.left.pop())} if self.left else None


def last_scale(model):
    """Of the quantisation that the output went through last."""
    graph = onnx.load(model).graph
    made = {name: node for node in graph.node for name in node.output}
    constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    node = made[graph.output[0].name]
    while node.op_type != "DequantizeLinear":
        node = made[node.input[0]]
    return float(constants[node.input[1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default="avx2")
    parser.add_argument("--executor", default="planned")
    parser.add_argument("--saccade", default=str(ROOT / "build/release/bin/saccade"))
    arguments = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        for name, make in (("unet_transposed", lambda: unet(transposed)),
                           ("unet_linear", lambda: unet(lambda net, x, channels: net.resize(x, 2))), ("lraspp", lraspp)):
            onnx.save(make(), folder / f"{name}.onnx")
            for form, activations, per_channel in (("QDQ", QuantType.QInt8, True), ("QDQ", QuantType.QUInt8, False),
                                                   ("QOperator", QuantType.QUInt8, True), ("QOperator", QuantType.QInt8, False)):
                path = folder / f"{name}_{form}_{activations.name}.onnx"
                quantize_static(folder / f"{name}.onnx", path, Calibration(), quant_format=QuantFormat[form],
                                activation_type=activations, weight_type=QuantType.QInt8, per_channel=per_channel, reduce_range=True)
                plain = onnxruntime.SessionOptions()
                plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
                sessions = [onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                            for options in (plain, onnxruntime.SessionOptions())]
                step = last_scale(path)
                for executor in arguments.executor.split(","):
                    for isa in arguments.isa.split(",") if executor == "planned" else ["-"]:
                        shares = []
                        for seed in range(3):
                            x = picture(seed)
                            numpy.save(folder / "x.npy", x)
                            with tempfile.TemporaryDirectory() as out:
                                subprocess.run([arguments.saccade, "infer", path, "--input", folder / "x.npy", "--output", out, "--overwrite", "--executor", executor,
                                                *(["--isa", isa] if executor == "planned" else [])], check=True)
                                ours = numpy.load(next(pathlib.Path(out).glob("*.npy")))
                            steps = [numpy.abs(ours - session.run(None, {"x": x})[0]) / step for session in sessions]
                            shares.append([(steps[0] < 1.01).mean(), (steps[0] < 0.01).mean(), (steps[1] < 1.01).mean(), (steps[1] < 0.01).mean()])
                        within, equal, optimised, optimised_equal = numpy.min(shares, axis=0)
                        holds = max(within, optimised) >= 0.999
                        good = good and holds
                        print(f"{path.stem:<32} {executor:<10} {isa:<9} within one step {within:.5f}, equal {equal:.5f}; beside the optimised graph "
                              f"{optimised:.5f}, {optimised_equal:.5f}  {'ok' if holds else 'FAIL'}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
