#!/usr/bin/env python3
"""Writes fuzz/corpus/tflite: one small model for each operator and way of using it, and a few small networks.

Needs numpy and flatc, which packs the JSON that is written here by the schema that the importer reads.
Results do not depend on when or where it runs: tflite_corpus.py [FOLDER]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent
TYPES = {np.dtype(np.float32): "FLOAT32", np.dtype(np.float16): "FLOAT16", np.dtype(np.int32): "INT32",
         np.dtype(np.int64): "INT64", np.dtype(np.int8): "INT8", np.dtype(np.uint8): "UINT8", np.dtype(np.bool_): "BOOL",
         np.dtype(np.int16): "INT16", np.dtype(np.float64): "FLOAT64"}
models = {}


class Graph:
    def __init__(self, name):
        self.name = name
        self.tensors, self.buffers, self.codes, self.operators, self.inputs = [], [{}], [], [], []
        self.metadata = []
        self.random = np.random.default_rng(1000 + len(models))

    def tensor(self, shape, kind="FLOAT32", buffer=0, scale=None, zero=None, axis=0, **more):
        fields = {"shape": list(shape), "type": kind, "buffer": buffer, "name": f"t{len(self.tensors)}", **more}
        if scale is not None:
            fields["quantization"] = {"scale": np.atleast_1d(scale).tolist(),
                                      "zero_point": np.atleast_1d(0 if zero is None else zero).tolist(),
                                      "quantized_dimension": axis}
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def input(self, shape, kind="FLOAT32", **more):
        self.inputs.append(self.tensor(shape, kind, **more))
        return self.inputs[-1]

    def const(self, values, dtype=np.float32, **more):
        values = np.asarray(values, dtype)
        self.buffers.append({"data": list(values.tobytes())})
        return self.tensor(values.shape, TYPES[values.dtype], len(self.buffers) - 1, **more)

    def ints(self, *values):
        return self.const(values, np.int32)

    def weights(self, *shape, scale=0.4):
        return self.const(np.round(self.random.standard_normal(shape) * scale, 3))

    def bytes(self, *shape, low=-127, high=127, dtype=np.int8, **more):
        return self.const(self.random.integers(low, high, shape), dtype, **more)

    def op(self, code, inputs, *shapes, kind="FLOAT32", options=None, custom=None, quantised=None, version=1, **fields):
        """Returns the tensors of the results, whose shapes are given; `options`: the union's member."""
        number = {"deprecated_builtin_code": 0, "builtin_code": code if custom is None else "CUSTOM", "version": version}
        if custom is not None:
            number["custom_code"] = custom
        if number not in self.codes:
            self.codes.append(number)
        outputs = [self.tensor(shape, kind, **(quantised or {})) for shape in shapes]
        operator = {"opcode_index": self.codes.index(number), "inputs": inputs, "outputs": outputs}
        if custom is not None:
            operator["custom_options"] = list(fields.pop("custom_options", b""))
        if options is not None:
            operator["builtin_options_type"] = options
            operator["builtin_options"] = fields
        self.operators.append(operator)
        return outputs[0] if len(outputs) == 1 else outputs

    def end(self, *outputs):
        assert self.name not in models, self.name
        models[self.name] = {
            "version": 3, "operator_codes": self.codes, "buffers": self.buffers, "description": "corpus",
            "metadata": self.metadata,
            "subgraphs": [{"tensors": self.tensors, "inputs": self.inputs, "outputs": list(outputs),
                           "operators": self.operators, "name": "main"}]}


def one(name, code, shape, out=None, consts=(), more=(), kind="FLOAT32", out_kind=None, options=None, **fields):
    """A model of one node: inputs of `shape` and of each shape in `more`, then constants."""
    g = Graph(name)
    inputs = [g.input(s, kind) for s in (shape, *more)] + [g.const(c, np.asarray(c).dtype) for c in consts]
    g.end(g.op(code, inputs, shape if out is None else out, kind=out_kind or kind, options=options, **fields))


def i32(*values):
    return np.array(values, np.int32)


def elementwise():
    for code in ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOG", "LOGISTIC", "NEG", "RELU",
                 "RELU_N1_TO_1", "RELU6", "RELU_0_TO_1", "ROUND", "RSQRT", "SIGN", "SIN", "SQRT", "SQUARE", "TANH"):
        one(code.lower(), code, (1, 3, 4, 2))
    one("leaky_relu", "LEAKY_RELU", (2, 3), options="LeakyReluOptions", alpha=0.1)
    one("gelu", "GELU", (2, 3), options="GeluOptions", approximate=True)
    one("prelu", "PRELU", (1, 3, 3, 2), consts=[np.full((1, 1, 2), 0.25, np.float32)])
    for code, options in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"), ("DIV", "DivOptions")):
        one(code.lower(), code, (1, 2, 3, 2), more=[(1, 2, 3, 2)], options=options)
        for activation in ("RELU", "RELU6", "RELU_N1_TO_1", "TANH"):
            one(f"{code.lower()}_{activation.lower()}", code, (2, 3), consts=[np.array([0.5, -2, 3], np.float32)],
                options=options, fused_activation_function=activation)
    one("add_int32", "ADD", (2, 3), consts=[i32(1, 2, 3)], kind="INT32", options="AddOptions")
    one("add_channels", "ADD", (1, 3, 3, 4), consts=[np.arange(4, dtype=np.float32)], options="AddOptions")
    for code in ("MAXIMUM", "MINIMUM", "POW", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD"):
        one(code.lower(), code, (2, 3), more=[(2, 3)])
    one("floor_mod_int32", "FLOOR_MOD", (3,), consts=[i32(2, -3, 4)], kind="INT32")
    for code in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        one(code.lower(), code, (2, 3), more=[(1, 3)], out_kind="BOOL")
    for code in ("LOGICAL_AND", "LOGICAL_OR"):
        one(code.lower(), code, (2, 3), more=[(2, 3)], kind="BOOL")
    one("logical_not", "LOGICAL_NOT", (2, 3), kind="BOOL")
    for code in ("SELECT", "SELECT_V2"):
        g = Graph(code.lower())
        g.end(g.op(code, [g.input((2, 3), "BOOL"), g.input((2, 3)), g.input((2, 3))], (2, 3)))
    one("add_n", "ADD_N", (2, 3), more=[(2, 3), (2, 3)])
    for target in ("INT32", "FLOAT16", "BOOL", "UINT8"):
        one(f"cast_{target.lower()}", "CAST", (2, 3), out_kind=target, options="CastOptions", out_data_type=target)
    for beta in (1.0, 0.5):
        one(f"softmax_{str(beta).replace('.', '_')}", "SOFTMAX", (2, 5), options="SoftmaxOptions", beta=beta)
    one("softmax_picture", "SOFTMAX", (1, 3, 3, 4), options="SoftmaxOptions", beta=1.0)
    one("log_softmax", "LOG_SOFTMAX", (2, 5))
    one("l2_normalization", "L2_NORMALIZATION", (1, 2, 2, 5), options="L2NormOptions")


def convolutions():
    def conv(name, shape, weights, out, padding="SAME", stride=1, dilation=1, bias=True, activation="NONE"):
        g = Graph(name)
        inputs = [g.input(shape), g.weights(*weights)] + ([g.weights(weights[0])] if bias else [])
        g.end(g.op("CONV_2D", inputs, out, options="Conv2DOptions", padding=padding, stride_w=stride, stride_h=stride,
                   dilation_w_factor=dilation, dilation_h_factor=dilation, fused_activation_function=activation))

    conv("conv_1x1", (1, 4, 5, 3), (4, 1, 1, 3), (1, 4, 5, 4))
    conv("conv_3x3", (1, 6, 7, 3), (4, 3, 3, 3), (1, 6, 7, 4), activation="RELU6")
    conv("conv_stride", (1, 7, 8, 2), (3, 3, 3, 2), (1, 4, 4, 3), stride=2, activation="RELU")
    conv("conv_valid", (1, 6, 6, 2), (2, 3, 2, 2), (1, 4, 5, 2), padding="VALID", activation="TANH")
    conv("conv_dilated", (1, 9, 9, 1), (2, 3, 3, 1), (1, 9, 9, 2), dilation=2, bias=False)

    def depthwise(name, shape, weights, out, multiplier=1, **fields):
        g = Graph(name)
        inputs = [g.input(shape), g.weights(*weights), g.weights(weights[3])]
        fields = {"padding": "SAME", "stride_w": 1, "stride_h": 1, **fields}
        g.end(g.op("DEPTHWISE_CONV_2D", inputs, out, options="DepthwiseConv2DOptions", depth_multiplier=multiplier,
                   **fields))

    depthwise("depthwise_3x3", (1, 6, 6, 4), (1, 3, 3, 4), (1, 6, 6, 4), fused_activation_function="RELU6")
    depthwise("depthwise_5x5", (1, 8, 8, 8), (1, 5, 5, 8), (1, 4, 4, 8), stride_w=2, stride_h=2)
    depthwise("depthwise_multiplier", (1, 5, 5, 2), (1, 3, 3, 4), (1, 3, 3, 4), multiplier=2, padding="VALID")
    depthwise("depthwise_dilated", (1, 9, 9, 2), (1, 3, 3, 2), (1, 9, 9, 2), dilation_w_factor=2, dilation_h_factor=2)
    for padding, size in (("SAME", (1, 8, 8, 3)), ("VALID", (1, 9, 9, 3))):
        g = Graph(f"transpose_conv_{padding.lower()}")
        g.end(g.op("TRANSPOSE_CONV", [g.ints(*size), g.weights(3, 3, 3, 2), g.input((1, 4, 4, 2))], size,
                   options="TransposeConvOptions", padding=padding, stride_w=2, stride_h=2))
    g = Graph("transpose_conv_bias")
    g.end(g.op("TRANSPOSE_CONV", [g.ints(1, 4, 4, 2), g.weights(2, 2, 2, 3), g.input((1, 2, 2, 3)), g.weights(2)],
               (1, 4, 4, 2), options="TransposeConvOptions", padding="SAME", stride_w=2, stride_h=2, version=3))
    g = Graph("custom_transpose_bias")
    g.end(g.op("", [g.input((1, 4, 4, 2)), g.weights(3, 2, 2, 2), g.weights(3)], (1, 8, 8, 3),
               custom="Convolution2DTransposeBias", custom_options=i32(1, 2, 2).tobytes()))
    for name, fields in (("fully_connected", {}), ("fully_connected_relu", {"fused_activation_function": "RELU"}),
                         ("fully_connected_keep", {"keep_num_dims": True})):
        g = Graph(name)
        shape = (2, 3, 4) if "keep" in name else (3, 4)
        g.end(g.op("FULLY_CONNECTED", [g.input(shape), g.weights(5, 4), g.weights(5)], (*shape[:-1], 5),
                   options="FullyConnectedOptions", **fields))
    g = Graph("fully_connected_bare")
    g.end(g.op("FULLY_CONNECTED", [g.input((2, 2, 3)), g.weights(5, 6), -1], (2, 5), options="FullyConnectedOptions"))
    for x, y in ((False, False), (True, False), (False, True)):
        one(f"batch_matmul_{int(x)}{int(y)}", "BATCH_MATMUL", (2, 4, 3) if x else (2, 3, 4), (2, 3, 5),
            more=[(2, 5, 4) if y else (2, 4, 5)], options="BatchMatMulOptions", adj_x=x, adj_y=y)
    for code in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        for padding, out in (("SAME", (1, 3, 3, 2)), ("VALID", (1, 2, 2, 2))):
            one(f"{code.lower()}_{padding.lower()}", code, (1, 6, 5, 2), out, options="Pool2DOptions", padding=padding,
                stride_w=2, stride_h=2, filter_width=3, filter_height=3,
                fused_activation_function="RELU" if padding == "SAME" else "NONE")
    for name, code in (("half", "FLOAT16"), ("dequantised", "INT8")):
        g = Graph(f"conv_weights_{name}")
        stored = (g.const(np.round(g.random.standard_normal((4, 3, 3, 2)), 2), np.float16) if name == "half"
                  else g.bytes(4, 3, 3, 2, scale=0.02, zero=0))
        weights = g.op("DEQUANTIZE", [stored], (4, 3, 3, 2))
        g.end(g.op("CONV_2D", [g.input((1, 5, 5, 2)), weights, g.weights(4)], (1, 5, 5, 4), options="Conv2DOptions",
                   padding="SAME", stride_w=1, stride_h=1))
    g = Graph("conv_weights_int8_hybrid")
    g.end(g.op("CONV_2D", [g.input((1, 5, 5, 2)), g.bytes(4, 3, 3, 2, scale=[0.01, 0.02, 0.01, 0.03], zero=[0] * 4),
                           g.weights(4)], (1, 5, 5, 4), options="Conv2DOptions", padding="SAME", stride_w=1, stride_h=1))
    for name, segments, kind in (("int32", "Int32Vector", 0), ("uint8", "Uint8Vector", 0)):
        g = Graph(f"densify_{name}")
        sparse = {"traversal_order": [0, 1], "dim_metadata": [
            {"format": "DENSE", "dense_size": 3},
            {"format": "SPARSE_CSR", "array_segments_type": segments, "array_segments": {"values": [0, 2, 2, 3]},
             "array_indices_type": segments, "array_indices": {"values": [0, 3, 1]}}]}
        g.buffers.append({"data": list(np.array([1.5, -2, 3], np.float32).tobytes())})
        stored = g.tensor((3, 4), "FLOAT32", len(g.buffers) - 1, sparsity=sparse)
        dense = g.op("DENSIFY", [stored], (3, 4))
        g.end(g.op("FULLY_CONNECTED", [g.input((2, 4)), dense, -1], (2, 3), options="FullyConnectedOptions"))
    g = Graph("densify_blocks")
    sparse = {"traversal_order": [0, 1, 2], "block_map": [1], "dim_metadata": [
        {"format": "DENSE", "dense_size": 2},
        {"format": "SPARSE_CSR", "array_segments_type": "Int32Vector", "array_segments": {"values": [0, 1, 2]},
         "array_indices_type": "Int32Vector", "array_indices": {"values": [1, 0]}},
        {"format": "DENSE", "dense_size": 2}]}
    g.buffers.append({"data": list(np.array([1, 2, 3, 4], np.float32).tobytes())})
    stored = g.tensor((2, 4), "FLOAT32", len(g.buffers) - 1, sparsity=sparse)
    g.end(g.op("FULLY_CONNECTED", [g.input((1, 4)), g.op("DENSIFY", [stored], (2, 4)), -1], (1, 2),
               options="FullyConnectedOptions"))


def rearranging():
    one("reshape_input", "RESHAPE", (2, 6), (3, 4), consts=[i32(3, -1)], options="ReshapeOptions")
    one("reshape_option", "RESHAPE", (2, 6), (4, 3), options="ReshapeOptions", new_shape=[4, 3])
    one("squeeze", "SQUEEZE", (1, 3, 1, 2), (3, 2), options="SqueezeOptions", squeeze_dims=[0, 2])
    one("expand_dims", "EXPAND_DIMS", (3, 2), (3, 1, 2), consts=[np.int32(1)])
    one("transpose", "TRANSPOSE", (2, 3, 4), (4, 2, 3), consts=[i32(2, 0, 1)])
    one("transpose_picture", "TRANSPOSE", (1, 3, 4, 2), (1, 2, 3, 4), consts=[i32(0, 3, 1, 2)])
    one("concatenation", "CONCATENATION", (1, 2, 2, 3), (1, 2, 2, 6), more=[(1, 2, 2, 3)],
        options="ConcatenationOptions", axis=3)
    one("concatenation_relu", "CONCATENATION", (2, 3), (4, 3), more=[(2, 3)], options="ConcatenationOptions", axis=-2,
        fused_activation_function="RELU")
    one("pad", "PAD", (1, 3, 3, 2), (1, 5, 6, 2), consts=[i32([0, 0], [1, 1], [1, 2], [0, 0]).reshape(4, 2)])
    one("padv2", "PADV2", (2, 3), (3, 5), consts=[i32([1, 0], [1, 1]).reshape(2, 2), np.float32(7)])
    for mode in ("REFLECT", "SYMMETRIC"):
        one(f"mirror_pad_{mode.lower()}", "MIRROR_PAD", (1, 4, 4, 1), (1, 6, 6, 1),
            consts=[i32([0, 0], [1, 1], [1, 1], [0, 0]).reshape(4, 2)], options="MirrorPadOptions", mode=mode)
    one("slice", "SLICE", (4, 5), (2, 3), consts=[i32(1, 2), i32(2, -1)])
    one("strided_slice", "STRIDED_SLICE", (4, 6), (2, 3), consts=[i32(0, 5), i32(4, 0), i32(2, -2)],
        options="StridedSliceOptions")
    one("strided_slice_masks", "STRIDED_SLICE", (3, 4, 5), (4, 2), consts=[i32(1, 0, 1), i32(2, 0, 3), i32(1, 1, 1)],
        options="StridedSliceOptions", begin_mask=2, end_mask=2, shrink_axis_mask=1)
    one("tile", "TILE", (2, 3), (4, 3), consts=[i32(2, 1)])
    one("broadcast_to", "BROADCAST_TO", (1, 3), (2, 3), consts=[i32(2, 3)])
    one("gather", "GATHER", (5, 3), (2, 3), consts=[i32(4, 1)], options="GatherOptions", axis=0)
    one("gather_nd", "GATHER_ND", (3, 4), (2,), consts=[i32([0, 1], [2, 3]).reshape(2, 2)])
    one("reverse_v2", "REVERSE_V2", (2, 5), consts=[i32(1)])
    one("cumsum", "CUMSUM", (2, 5), consts=[np.int32(1)], options="CumsumOptions", exclusive=True, reverse=True)
    one("depth_to_space", "DEPTH_TO_SPACE", (1, 2, 3, 8), (1, 4, 6, 2), options="DepthToSpaceOptions", block_size=2)
    one("space_to_depth", "SPACE_TO_DEPTH", (1, 4, 6, 2), (1, 2, 3, 8), options="SpaceToDepthOptions", block_size=2)
    one("space_to_batch_nd", "SPACE_TO_BATCH_ND", (1, 4, 4, 2), (4, 3, 2, 2),
        consts=[i32(2, 2), i32([1, 1], [0, 0]).reshape(2, 2)])
    one("batch_to_space_nd", "BATCH_TO_SPACE_ND", (4, 2, 2, 1), (1, 3, 4, 1),
        consts=[i32(2, 2), i32([1, 0], [0, 0]).reshape(2, 2)])
    g = Graph("pack")
    g.end(g.op("PACK", [g.input((2, 3)), g.input((2, 3))], (2, 2, 3), options="PackOptions", values_count=2, axis=1))
    g = Graph("unpack")
    g.end(*g.op("UNPACK", [g.input((3, 2))], (3,), (3,), options="UnpackOptions", num=2, axis=1))
    g = Graph("split")
    g.end(*g.op("SPLIT", [g.const(np.int32(1), np.int32), g.input((2, 6))], (2, 3), (2, 3),
                options="SplitOptions", num_splits=2))
    g = Graph("split_v")
    g.end(*g.op("SPLIT_V", [g.input((2, 6)), g.ints(2, -1), g.const(np.int32(1), np.int32)], (2, 2), (2, 4),
                options="SplitVOptions", num_splits=2))
    g = Graph("one_hot")
    g.end(g.op("ONE_HOT", [g.input((3,), "INT32"), g.const(np.int32(4), np.int32), g.const(np.float32(2)),
                           g.const(np.float32(-1))], (3, 4), options="OneHotOptions", axis=-1))
    g = Graph("topk_v2")
    values, indices = g.op("TOPK_V2", [g.input((2, 6)), g.const(np.int32(3), np.int32)], (2, 3), (2, 3))
    g.tensors[indices]["type"] = "INT32"
    g.end(values, indices)
    g = Graph("shape_fill")
    shape = g.op("SHAPE", [g.input((2, 3))], (2,), kind="INT32", options="ShapeOptions", out_type="INT32")
    g.end(g.op("FILL", [shape, g.const(np.float32(1.5))], (2, 3)))
    g = Graph("range")
    g.end(g.op("RANGE", [g.const(np.float32(0)), g.const(np.float32(5)), g.const(np.float32(2))], (3,)),
          g.op("NEG", [g.input((2,))], (2,)))
    for code in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        one(f"{code.lower()}_keep", code, (1, 3, 4, 2), (1, 1, 1, 2), consts=[i32(1, 2)], options="ReducerOptions",
            keep_dims=True)
        one(f"{code.lower()}_drop", code, (2, 3, 4), (2, 4), consts=[i32(1)], options="ReducerOptions")
    for code, options in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
        one(code.lower(), code, (1, 3, 3, 4), (1, 3, 3), consts=[np.int32(-1)], out_kind="INT32", options=options,
            output_type="INT32")
    for code, options in (("RESIZE_BILINEAR", "ResizeBilinearOptions"),
                          ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")):
        for name, fields in (("plain", {}), ("half", {"half_pixel_centers": True}), ("corners", {"align_corners": True})):
            one(f"{code.lower()}_{name}", code, (1, 3, 4, 2), (1, 6, 8, 2), consts=[i32(6, 8)], options=options, **fields)


def quantised():
    def pair(scale=0.05, zero=3):
        return {"scale": scale, "zero": zero}

    for kind in ("INT8", "UINT8", "INT16"):
        zero = 0 if kind == "INT16" else 3
        g = Graph(f"quantize_{kind.lower()}")
        integers = g.op("QUANTIZE", [g.input((2, 3))], (2, 3), kind=kind, quantised=pair(zero=zero))
        g.end(g.op("DEQUANTIZE", [integers], (2, 3)))
        g = Graph(f"add_{kind.lower()}")
        x = [g.input((1, 2, 2, 3), kind, **pair(0.1, zero)), g.input((1, 2, 2, 3), kind, **pair(0.03, zero))]
        g.end(g.op("ADD", x, (1, 2, 2, 3), kind=kind, quantised=pair(0.2, zero), options="AddOptions",
                   fused_activation_function="RELU"))
    for code, options in (("MUL", "MulOptions"), ("SUB", "SubOptions")):
        g = Graph(f"{code.lower()}_quantised")
        g.end(g.op(code, [g.input((2, 3), "INT8", **pair()), g.input((2, 3), "INT8", **pair(0.1, -5))], (2, 3), kind="INT8",
                   quantised=pair(0.2, 1), options=options))
    for code in ("LOGISTIC", "TANH", "HARD_SWISH", "RELU"):
        g = Graph(f"{code.lower()}_int8")
        g.end(g.op(code, [g.input((1, 3, 3, 2), "INT8", **pair())], (1, 3, 3, 2), kind="INT8",
                   quantised=pair(1 / 256, -128) if code == "LOGISTIC" else pair(1 / 128, 0)))
    g = Graph("softmax_int8")
    g.end(g.op("SOFTMAX", [g.input((2, 5), "INT8", **pair())], (2, 5), kind="INT8", quantised=pair(1 / 256, -128),
               options="SoftmaxOptions", beta=1.0))
    g = Graph("conv_int8_per_channel")
    y = g.op("CONV_2D", [g.input((1, 6, 6, 2), "INT8", **pair()),
                         g.bytes(4, 3, 3, 2, scale=[0.01, 0.02, 0.005, 0.03], zero=[0] * 4),
                         g.const([10, -20, 30, 0], np.int32, scale=[0.0005, 0.001, 0.00025, 0.0015], zero=[0] * 4)],
             (1, 3, 3, 4), kind="INT8", quantised=pair(0.08, -10), options="Conv2DOptions", padding="SAME", stride_w=2,
             stride_h=2, fused_activation_function="RELU6")
    g.end(g.op("DEPTHWISE_CONV_2D", [y, g.bytes(1, 3, 3, 4, scale=[0.01, 0.02, 0.01, 0.02], zero=[0] * 4, axis=3),
                                     g.const([1, 2, 3, 4], np.int32, scale=[0.0008, 0.0016, 0.0008, 0.0016], zero=[0] * 4)],
               (1, 3, 3, 4), kind="INT8", quantised=pair(0.1, 5), options="DepthwiseConv2DOptions", padding="SAME",
               stride_w=1, stride_h=1, depth_multiplier=1))
    g = Graph("conv_uint8")
    g.end(g.op("CONV_2D", [g.input((1, 4, 4, 2), "UINT8", **pair(0.05, 128)),
                           g.bytes(3, 1, 1, 2, low=0, high=255, dtype=np.uint8, scale=0.01, zero=120),
                           g.const([1, 2, 3], np.int32, scale=0.0005, zero=0)], (1, 4, 4, 3), kind="UINT8",
               quantised=pair(0.1, 100), options="Conv2DOptions", padding="VALID", stride_w=1, stride_h=1))
    g = Graph("fully_connected_int8")
    g.end(g.op("FULLY_CONNECTED", [g.input((2, 4), "INT8", **pair()), g.bytes(3, 4, scale=0.02, zero=0),
                                   g.const([10, 20, 30], np.int32, scale=0.001, zero=0)], (2, 3), kind="INT8",
               quantised=pair(0.1, 0), options="FullyConnectedOptions"))
    g = Graph("pool_int8")
    g.end(g.op("AVERAGE_POOL_2D", [g.input((1, 4, 4, 2), "INT8", **pair())], (1, 2, 2, 2), kind="INT8", quantised=pair(),
               options="Pool2DOptions", padding="VALID", stride_w=2, stride_h=2, filter_width=2, filter_height=2))
    g = Graph("concat_requantised")
    g.end(g.op("CONCATENATION", [g.input((1, 2, 2, 2), "INT8", **pair()), g.input((1, 2, 2, 2), "INT8", **pair(0.1, -7))],
               (1, 2, 2, 4), kind="INT8", quantised=pair(0.07, 2), options="ConcatenationOptions", axis=3))
    g = Graph("mean_int8")
    g.end(g.op("MEAN", [g.input((1, 3, 3, 2), "INT8", **pair()), g.ints(1, 2)], (1, 1, 1, 2), kind="INT8",
               quantised=pair(0.03, 1), options="ReducerOptions", keep_dims=True))
    g = Graph("weights_int4")
    g.buffers.append({"data": [0x21, 0xF8, 0x7A]})
    g.end(g.op("FULLY_CONNECTED", [g.input((1, 3)), g.tensor((2, 3), "INT4", 1, scale=[0.5, 0.25], zero=[0, 0]), -1], (1, 2),
               options="FullyConnectedOptions"))


def networks():
    def conv(g, x, shape, count, size=3, stride=1, activation="RELU6"):
        out = (1, -(-shape[1] // stride), -(-shape[2] // stride), count)
        return g.op("CONV_2D", [x, g.weights(count, size, size, shape[3], scale=0.3), g.weights(count, scale=0.1)], out,
                    options="Conv2DOptions", padding="SAME", stride_w=stride, stride_h=stride,
                    fused_activation_function=activation), out

    g = Graph("net_segmenter")
    x = g.input((1, 16, 16, 3))
    y, s = conv(g, x, (1, 16, 16, 3), 8, stride=2, activation="NONE")
    y = g.op("HARD_SWISH", [y], s)
    d = g.op("DEPTHWISE_CONV_2D", [y, g.weights(1, 3, 3, 8), g.weights(8)], s, options="DepthwiseConv2DOptions",
             padding="SAME", stride_w=1, stride_h=1, depth_multiplier=1, fused_activation_function="RELU")
    mean = g.op("MEAN", [d, g.ints(1, 2)], (1, 1, 1, 8), options="ReducerOptions", keep_dims=True)
    gate, _ = conv(g, mean, (1, 1, 1, 8), 8, size=1, activation="NONE")
    d = g.op("MUL", [d, g.op("LOGISTIC", [gate], (1, 1, 1, 8))], s, options="MulOptions")
    y = g.op("ADD", [y, d], s, options="AddOptions")
    up = g.op("RESIZE_BILINEAR", [y, g.ints(16, 16)], (1, 16, 16, 8), options="ResizeBilinearOptions",
              half_pixel_centers=True)
    both = g.op("CONCATENATION", [up, x], (1, 16, 16, 11), options="ConcatenationOptions", axis=3)
    y, s = conv(g, both, (1, 16, 16, 11), 2, activation="NONE")
    g.end(g.op("SOFTMAX", [y], s, options="SoftmaxOptions", beta=1.0))
    g = Graph("net_transpose_bias")
    y, s = conv(g, g.input((1, 8, 8, 3)), (1, 8, 8, 3), 4, stride=2)
    y = g.op("", [y, g.weights(1, 2, 2, 4), g.weights(1)], (1, 8, 8, 1), custom="Convolution2DTransposeBias",
             custom_options=i32(1, 2, 2).tobytes())
    g.end(g.op("LOGISTIC", [y], (1, 8, 8, 1)))
    g = Graph("net_detector")
    y, s = conv(g, g.input((1, 8, 8, 3)), (1, 8, 8, 3), 6, stride=2)
    y = g.op("MAX_POOL_2D", [y], (1, 2, 2, 6), options="Pool2DOptions", padding="VALID", stride_w=2, stride_h=2,
             filter_width=2, filter_height=2)
    flat = g.op("RESHAPE", [y, g.ints(1, 24)], (1, 24), options="ReshapeOptions")
    g.end(g.op("FULLY_CONNECTED", [flat, g.weights(5, 24), g.weights(5)], (1, 5), options="FullyConnectedOptions"),
          g.op("LOGISTIC", [flat], (1, 24)))
    g = Graph("net_free_size")
    x = g.input((1, 1, 1, 3), shape_signature=[1, -1, -1, 3])
    y, s = conv(g, x, (1, 1, 1, 3), 4)
    g.tensors[y]["shape_signature"] = [1, -1, -1, 4]
    g.end(y)
    g = Graph("net_metadata")
    g.buffers.append({"data": list(b"1.5.0")})
    g.metadata.append({"name": "min_runtime_version", "buffer": 1})
    y, s = conv(g, g.input((1, 4, 4, 3)), (1, 4, 4, 3), 2)
    g.end(y)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus" / "tflite"
    folder.mkdir(parents=True, exist_ok=True)
    for group in (elementwise, convolutions, rearranging, quantised, networks):
        group()
    schema = HERE.parent / "src" / "import" / "tflite" / "tflite.fbs"
    with tempfile.TemporaryDirectory() as work:
        files = []
        for name, model in models.items():
            files.append(pathlib.Path(work) / f"{name}.json")
            files[-1].write_text(json.dumps(model))
        subprocess.run(["flatc", "--binary", "-o", folder, schema, *files], check=True)
    size = sum((folder / f"{name}.tflite").stat().st_size for name in models)
    print(f"{len(models)} models, {size} bytes, in {folder}")


if __name__ == "__main__":
    main()
