#!/usr/bin/env python3
"""Rewrites a MediaPipe selfie network, which is TFLite with an operator of MediaPipe's own, as plain ONNX (planes, opset 17), so that
engines that read ONNX can be compared on it.

    selfie_onnx.py IN.tflite OUT.onnx

Needs the Python packages ai-edge-litert, numpy, onnx and onnxruntime. Runs both files on a picture and fails where they differ.
"""
import sys

import ai_edge_litert.schema_py_generated as schema
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

BOUND = 1e-4  # of the output's range, which is 0 to 1
DTYPES = {0: numpy.float32, 1: numpy.float16, 2: numpy.int32}
SAME = 0  # padding, in the schema


def names(enumeration):
    return {value: key for key, value in vars(enumeration).items() if isinstance(value, int)}


OPERATORS, ACTIVATIONS = names(schema.BuiltinOperator), names(schema.ActivationFunctionType)


class Converter:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(file.read(), 0))
        self.graph = self.model.subgraphs[0]
        self.nodes, self.initializers, self.values = [], [], {}
        self.constants = {k: data for k in range(len(self.graph.tensors)) if (data := self.stored(k)) is not None}
        self.values[self.graph.inputs[0]] = "picture"
        for operator in self.graph.operators:
            self.convert(operator)

    def stored(self, k):
        tensor = self.graph.tensors[k]
        data = self.model.buffers[tensor.buffer].data
        if data is None or len(data) == 0:
            return None
        return numpy.frombuffer(bytes(data), DTYPES[tensor.type]).reshape(tensor.shape if tensor.shape is not None else [])

    def shape(self, k):
        return [int(d) for d in self.graph.tensors[k].shape]

    def constant(self, data):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(data), name))
        return name

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def operand(self, k):
        if k in self.values:
            return self.values[k]
        data = self.constants[k].astype(numpy.float32)
        return self.constant(data.transpose(0, 3, 1, 2) if data.ndim == 4 else data)

    def activated(self, x, code):
        name = ACTIVATIONS[code]
        if name == "NONE":
            return x
        if name == "RELU":
            return self.add("Relu", [x])
        if name == "RELU6":
            return self.add("Clip", [x, self.constant(numpy.float32(0)), self.constant(numpy.float32(6))])
        raise SystemExit(f"selfie_onnx: activation {name}")

    def pads(self, options, shape, kernel):
        """As TFLite's SAME pads: the odd pixel behind."""
        pads = []
        for size, extent, stride in zip(shape[1:3], kernel, (options.strideH, options.strideW)):
            missing = max((-(-size // stride) - 1) * stride + extent - size, 0) if options.padding == SAME else 0
            pads.append((missing // 2, missing - missing // 2))
        (top, bottom), (left, right) = pads
        return [top, left, bottom, right]

    def convolution(self, operator, options, depthwise):
        x, weights, bias = operator.inputs
        data = self.constants[weights].astype(numpy.float32)
        data = data.transpose(3, 0, 1, 2) if depthwise else data.transpose(0, 3, 1, 2)
        kernel = list(data.shape[2:])
        result = self.add("Conv", [self.values[x], self.constant(data), self.constant(self.constants[bias].astype(numpy.float32))],
                          group=self.shape(x)[3] if depthwise else 1, kernel_shape=kernel, strides=[options.strideH, options.strideW],
                          pads=self.pads(options, self.shape(x), kernel))
        return self.activated(result, options.fusedActivationFunction)

    def convert(self, operator):
        code = self.model.operatorCodes[operator.opcodeIndex]
        name = OPERATORS[max(code.builtinCode, code.deprecatedBuiltinCode)]
        options, inputs, output = operator.builtinOptions, list(operator.inputs), operator.outputs[0]
        if name == "DEQUANTIZE":
            self.constants[output] = self.constants[inputs[0]].astype(numpy.float32)
            return
        if name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            result = self.convolution(operator, options, name != "CONV_2D")
        elif name in ("HARD_SWISH", "RELU", "LOGISTIC"):
            result = self.add({"HARD_SWISH": "HardSwish", "RELU": "Relu", "LOGISTIC": "Sigmoid"}[name], [self.values[inputs[0]]])
        elif name in ("MUL", "ADD"):
            result = self.add(name.capitalize(), [self.operand(k) for k in inputs])
            result = self.activated(result, options.fusedActivationFunction)
        elif name in ("AVERAGE_POOL_2D", "MEAN") and self.shape(output)[-3:-1] == [1, 1]:
            result = self.add("GlobalAveragePool", [self.values[inputs[0]]])
        elif name == "RESIZE_BILINEAR":
            mode = "align_corners" if options.alignCorners else "half_pixel" if options.halfPixelCenters else "asymmetric"
            _, height, width, channels = self.shape(output)
            result = self.add("Resize", [self.values[inputs[0]], "", "", self.constant(numpy.array([1, channels, height, width]))],
                              mode="linear", coordinate_transformation_mode=mode, nearest_mode="floor")  # as PyTorch writes it: converters know that
        elif name == "CUSTOM" and code.customCode in (b"Convolution2DTransposeBias", "Convolution2DTransposeBias"):
            weights = self.constants[inputs[1]].astype(numpy.float32).transpose(3, 0, 1, 2)
            bias = self.constants[inputs[2]].astype(numpy.float32)
            kernel = list(weights.shape[2:])  # strides are the kernel in these networks, as main() checks
            result = self.add("ConvTranspose", [self.values[inputs[0]], self.constant(weights), self.constant(bias)],
                              kernel_shape=kernel, strides=kernel)
        else:
            raise SystemExit(f"selfie_onnx: operator {name}")
        self.values[output] = result

    def onnx(self):
        _, height, width, channels = self.shape(self.graph.inputs[0])
        _, out_height, out_width, out_channels = self.shape(self.graph.outputs[0])
        self.nodes.append(helper.make_node("Identity", [self.values[self.graph.outputs[0]]], ["mask"]))
        graph = helper.make_graph(
            self.nodes, "selfie", [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, channels, height, width])],
            [helper.make_tensor_value_info("mask", TensorProto.FLOAT, [1, out_channels, out_height, out_width])], self.initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made)
        return made


def difference(tflite, made):
    """The largest difference of the two on a bright shape before a gradient."""
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(tflite, num_threads=1)
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    height, width = source["shape"][1:3]
    v, u = numpy.mgrid[0:height, 0:width] / numpy.array([height, width]).reshape(2, 1, 1)
    picture = numpy.stack([v, u, numpy.exp(-((v - 0.5) ** 2 + (u - 0.5) ** 2) * 8)], -1)[None].astype(numpy.float32)
    interpreter.set_tensor(source["index"], picture)
    interpreter.invoke()
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    (mask,) = session.run(None, {"picture": picture.transpose(0, 3, 1, 2)})
    return float(numpy.abs(interpreter.get_tensor(result["index"]) - mask.transpose(0, 2, 3, 1)).max())


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: selfie_onnx.py IN.tflite OUT.onnx")
    made = Converter(sys.argv[1]).onnx()
    if (worst := difference(sys.argv[1], made)) > BOUND:
        raise SystemExit(f"selfie_onnx: {sys.argv[1]}: the ONNX network differs by {worst:.2g}")
    onnx.save(made, sys.argv[2])


if __name__ == "__main__":
    main()
