#!/usr/bin/env python3
"""Writes fuzz/corpus/onnx: one small model for each operator and way of using it, and a few small networks.

Needs the Python packages onnx and numpy. Results do not depend on when or where it runs: onnx_corpus.py [FOLDER]
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f": TensorProto.FLOAT, "h": TensorProto.FLOAT16, "b": TensorProto.BFLOAT16, "d": TensorProto.DOUBLE,
         "i": TensorProto.INT32, "l": TensorProto.INT64, "c": TensorProto.INT8, "u": TensorProto.UINT8,
         "s": TensorProto.INT16, "?": TensorProto.BOOL, "v": TensorProto.UINT32, "w": TensorProto.UINT64,
         "t": TensorProto.UINT16}
IR_VERSION = {1: 3, 7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9,
              21: 10, 22: 10, 23: 11, 24: 12, 25: 12, 26: 13}
models = {}


class Graph:
    """Nodes, inputs ("f 1,3,4,4" or a name for a free dimension) and constants."""

    def __init__(self, name, opset, **inputs):
        self.name, self.opset = name, opset
        self.nodes, self.constants, self.functions, self.opsets, self.properties = [], [], [], {}, {}
        self.inputs = [self.value(key, what) for key, what in inputs.items()]
        self.random = np.random.default_rng(len(models))

    @staticmethod
    def value(name, what):
        kind, _, dims = what.partition(" ")
        shape = [int(d) if d.lstrip("-").isdigit() else d for d in dims.split(",") if d]
        return helper.make_tensor_value_info(name, TYPES[kind], shape)

    def const(self, values, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def weights(self, *shape, scale=0.5):
        return self.const(np.round(self.random.standard_normal(shape) * scale, 3))

    def node(self, op, *inputs, outs=1, domain="", **attributes):
        outputs = [f"n{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outs)]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, domain=domain, **attributes))
        return outputs[0] if outs == 1 else outputs

    def end(self, *outputs, kinds="f"):
        """Outputs, with the letter of each one's type."""
        infos = [helper.make_tensor_value_info(name, TYPES[kinds[min(i, len(kinds) - 1)]], None)
                 for i, name in enumerate(outputs)]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, v) for d, v in self.opsets.items()]
        model = helper.make_model(graph, opset_imports=opsets, functions=self.functions, producer_name="corpus")
        model.ir_version = IR_VERSION[self.opset]
        for key, value in self.properties.items():
            model.metadata_props.add(key=key, value=value)
        assert self.name not in models, self.name
        models[self.name] = model.SerializeToString(deterministic=True)


def body(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, [Graph.value(n, w) for n, w in inputs.items()],
                             [helper.make_tensor_value_info(n, TYPES[w], None) for n, w in outputs.items()],
                             [numpy_helper.from_array(np.asarray(v), n) for n, v in dict(constants).items()])


def one(name, op, opset, *inputs, consts=(), outs=1, kinds="f", order=None, **attributes):
    """A model of one node. Its inputs: those of the graph, then the constants, unless `order` says otherwise ("" absent)."""
    g = Graph(name, opset, **{f"x{i}": what for i, what in enumerate(inputs)})
    names = [f"x{i}" for i in range(len(inputs))] + [g.const(v, np.asarray(v).dtype) for v in consts]
    if order is not None:
        names = [names[i] if i >= 0 else "" for i in order]
    made = g.node(op, *names, outs=outs, **attributes)
    g.end(*([made] if outs == 1 else made), kinds=kinds)


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


def elementwise():
    for op in ("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
               "Log", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softsign", "Softplus",
               "Sqrt", "Tan", "Tanh", "Identity"):
        one(op.lower(), op, 13, "f 2,3,5")
    for op, opset, attributes in (("Celu", 12, {}), ("Elu", 6 + 1, {"alpha": 0.7}), ("HardSigmoid", 13, {}),
                                  ("HardSwish", 14, {}), ("LeakyRelu", 16, {}), ("Mish", 18, {}), ("Selu", 13, {}),
                                  ("Shrink", 13, {"bias": 0.2}), ("ThresholdedRelu", 13, {}), ("Gelu", 20, {}),
                                  ("Swish", 24, {})):
        one(f"{op.lower()}_{opset}", op, opset, "f 1,4,3,3", **attributes)
    one("gelu_tanh", "Gelu", 20, "f 7", approximate="tanh")
    one("clip_7", "Clip", 7, "f 3,4", min=-0.5, max=0.5)
    one("clip_13", "Clip", 13, "f 3,4", consts=[np.float32(-0.5), np.float32(0.5)])
    one("clip_one_sided", "Clip", 13, "f 3,4", consts=[np.float32(1)], order=[0, -1, 1])
    one("prelu", "PRelu", 16, "f 1,3,4,4", consts=[np.full((3, 1, 1), 0.25, np.float32)])
    for op in ("Add", "Sub", "Mul", "Div", "Pow"):
        one(f"{op.lower()}_broadcast", op, 14, "f 2,3,4", "f 3,1")
        one(f"{op.lower()}_int", op, 14, "i 5", consts=[np.array([1, 2, 3, 1, 2], np.int32)], kinds="i")
    one("add_old", "Add", 7, "f 1,3,2,2", "f 1,3,1,1")
    for kind in "hbdl":
        one(f"add_{kind}", "Add", 14, f"{kind} 2,3", f"{kind} 3", kinds=kind)
    one("mod", "Mod", 13, "i 6", consts=[np.array([2, 3, -2, 3, 4, 5], np.int32)], kinds="i")
    one("fmod", "Mod", 13, "f 6", consts=[f32(2, 3, -2, 3, 4, 5)], fmod=1)
    for op in ("Max", "Min", "Sum", "Mean"):
        one(f"{op.lower()}_3", op, 13, "f 2,3", "f 3", "f 2,1")
    for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        one(op.lower(), op, 16, "f 2,3", "f 3", kinds="?")
    for op in ("And", "Or", "Xor"):
        one(op.lower(), op, 13, "? 2,3", "? 3", kinds="?")
    one("not", "Not", 13, "? 2,3", kinds="?")
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        one(op.lower(), op, 18, "u 2,3", "u 3", kinds="u")
    one("bitwisenot", "BitwiseNot", 18, "c 4", kinds="c")
    one("bitshift", "BitShift", 11, "v 4", consts=[np.array([1, 2, 0, 3], np.uint32)], kinds="v", direction="LEFT")
    one("isinf", "IsInf", 20, "f 4", kinds="?")
    one("isnan", "IsNaN", 20, "f 4", kinds="?")
    one("where", "Where", 16, "? 2,3", "f 3", "f 2,1")
    for source, target in ("fh", "hf", "fi", "if", "fb", "fu", "?f", "dl", "lf", "f?"):
        one(f"cast_{ord(source)}_{ord(target)}", "Cast", 13, f"{source} 2,3", kinds=target, to=TYPES[target])
    one("castlike", "CastLike", 15, "f 3", "h 1", kinds="h")
    one("bitcast", "BitCast", 26, "f 3", kinds="i", to=TYPES["i"])
    one("dropout_7", "Dropout", 7, "f 2,3", ratio=0.5)
    one("dropout_13", "Dropout", 13, "f 2,3", outs=2, kinds="f?")


def convolutions():
    def conv(name, op, x, w, opset=11, bias=True, kinds="f", **attributes):
        g = Graph(name, opset, x=x)
        inputs = ["x", g.weights(*w)]
        if bias:
            channels = w[1] * attributes.get("group", 1) if op == "ConvTranspose" else w[0]
            inputs.append(g.weights(channels))
        g.end(g.node(op, *inputs, **attributes), kinds=kinds)

    conv("conv_1x1", "Conv", "f 1,3,4,5", (4, 3, 1, 1))
    conv("conv_3x3", "Conv", "f 1,3,6,7", (4, 3, 3, 3), pads=[1, 1, 1, 1])
    conv("conv_3x3_wide", "Conv", "f 1,16,12,12", (16, 16, 3, 3), pads=[1, 1, 1, 1])
    conv("conv_stride", "Conv", "f 2,3,7,9", (8, 3, 3, 3), strides=[2, 2], pads=[1, 1, 0, 0])
    conv("conv_dilated", "Conv", "f 1,2,9,9", (3, 2, 3, 3), dilations=[2, 3])
    conv("conv_group", "Conv", "f 1,4,5,5", (6, 2, 3, 3), group=2)
    conv("conv_depthwise", "Conv", "f 1,8,6,6", (8, 1, 3, 3), group=8, pads=[1, 1, 1, 1])
    conv("conv_depthwise_5x5", "Conv", "f 1,8,9,6", (8, 1, 5, 5), group=8, pads=[2, 2, 2, 2], strides=[2, 2])
    conv("conv_depth_multiplier", "Conv", "f 1,3,6,6", (6, 1, 3, 3), group=3)
    conv("conv_same_upper", "Conv", "f 1,2,5,6", (2, 2, 2, 2), auto_pad="SAME_UPPER", strides=[2, 2])
    conv("conv_same_lower", "Conv", "f 1,2,5,6", (2, 2, 2, 2), auto_pad="SAME_LOWER")
    conv("conv_valid", "Conv", "f 1,2,5,6", (2, 2, 2, 2), auto_pad="VALID", bias=False)
    conv("conv_1d", "Conv", "f 1,2,9", (3, 2, 3), pads=[1, 1])
    conv("conv_3d", "Conv", "f 1,2,4,4,4", (2, 2, 2, 2, 2))
    conv("conv_free_size", "Conv", "f n,3,h,w", (2, 3, 3, 3), pads=[1, 1, 1, 1])
    conv("conv_transpose", "ConvTranspose", "f 1,3,4,4", (3, 2, 3, 3))
    conv("conv_transpose_stride", "ConvTranspose", "f 1,3,3,4", (3, 2, 2, 2), strides=[2, 2])
    conv("conv_transpose_padded", "ConvTranspose", "f 1,2,4,4", (2, 2, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1],
         output_padding=[1, 0])
    conv("conv_transpose_shape", "ConvTranspose", "f 1,2,4,4", (2, 1, 3, 3), strides=[2, 2], output_shape=[8, 8])
    conv("conv_transpose_group", "ConvTranspose", "f 1,4,3,3", (4, 2, 3, 3), group=2, dilations=[2, 1])
    conv("conv_transpose_same", "ConvTranspose", "f 1,1,4,4", (1, 1, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
    conv("conv_transpose_1d", "ConvTranspose", "f 1,2,5", (2, 2, 3), strides=[2])
    g = Graph("conv_weights_as_input", 11, x="f 1,2,5,5", w="f 3,2,3,3")
    g.end(g.node("Conv", "x", "w"))
    g = Graph("deform_conv", 19, x="f 1,1,3,3", offset="f 1,8,2,2")
    g.end(g.node("DeformConv", "x", g.weights(1, 1, 2, 2), "offset", kernel_shape=[2, 2]))
    one("col2im", "Col2Im", 18, "f 1,5,5", consts=[i64(5, 5), i64(1, 5)])
    one("im2col_like_matmul", "MatMul", 13, "f 1,4,9", consts=[np.ones((9, 2), np.float32)])


def pools():
    for op in ("MaxPool", "AveragePool"):
        one(f"{op.lower()}_2x2", op, 12, "f 1,3,6,6", kernel_shape=[2, 2], strides=[2, 2])
        one(f"{op.lower()}_ceil", op, 12 if op == "MaxPool" else 19, "f 1,2,7,5", kernel_shape=[3, 2],
            strides=[2, 2], ceil_mode=1)
        one(f"{op.lower()}_same", op, 12, "f 1,2,5,5", kernel_shape=[3, 3], auto_pad="SAME_UPPER")
        one(f"{op.lower()}_1d", op, 12, "f 1,2,9", kernel_shape=[3], pads=[1, 1])
        one(f"{op.lower()}_dilated", op, 12 if op == "MaxPool" else 19, "f 1,2,9,9", kernel_shape=[3, 3],
            dilations=[2, 2])
        one(f"{op.lower()}_3d", op, 12, "f 1,1,4,4,4", kernel_shape=[2, 2, 2])
    one("maxpool_indices", "MaxPool", 12, "f 1,2,4,4", outs=2, kinds="fl", kernel_shape=[2, 2], strides=[2, 2])
    one("maxpool_column_major", "MaxPool", 12, "f 1,2,4,4", outs=2, kinds="fl", kernel_shape=[2, 2], storage_order=1)
    one("maxpool_int8", "MaxPool", 12, "c 1,2,4,4", kinds="c", kernel_shape=[2, 2])
    one("averagepool_padded", "AveragePool", 11, "f 1,2,5,5", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
        count_include_pad=1)
    one("lppool", "LpPool", 18, "f 1,2,5,5", kernel_shape=[2, 2], p=3)
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        one(op.lower(), op, 13, "f 2,3,4,5")
    g = Graph("maxunpool", 11, x="f 1,1,4,4")
    small, where = g.node("MaxPool", "x", outs=2, kernel_shape=[2, 2], strides=[2, 2])
    g.end(g.node("MaxUnpool", small, where, kernel_shape=[2, 2], strides=[2, 2]))
    one("roialign", "RoiAlign", 16, "f 1,2,6,6", consts=[f32([0, 0, 4, 4], [1, 1, 5, 3]).reshape(2, 4), i64(0, 0)],
        output_height=2, output_width=2, sampling_ratio=2)


def resizing():
    def resize(name, opset=13, scales=(1, 1, 2, 2), sizes=None, shape="f 1,2,4,5", **attributes):
        g = Graph(name, opset, x=shape)
        inputs = ["x", "", g.const(scales)] if sizes is None else ["x", "", "", g.ints(*sizes)]
        g.end(g.node("Resize", *inputs, **attributes))

    for mode in ("nearest", "linear", "cubic"):
        for coordinates in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
            resize(f"resize_{mode}_{coordinates}", mode=mode, coordinate_transformation_mode=coordinates)
        resize(f"resize_{mode}_down", mode=mode, scales=(1, 1, 0.6, 0.4))
        resize(f"resize_{mode}_sizes", mode=mode, sizes=(1, 2, 7, 3))
    for rule in ("floor", "ceil", "round_prefer_ceil"):
        resize(f"resize_nearest_{rule}", mode="nearest", nearest_mode=rule)
    resize("resize_antialias", 18, mode="linear", antialias=1, scales=(1, 1, 0.5, 0.5))
    resize("resize_cubic_antialias", 18, mode="cubic", antialias=1, scales=(1, 1, 0.5, 0.5))
    resize("resize_exclude_outside", mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)
    resize("resize_axes", 18, mode="linear", axes=[2, 3], scales=(2, 2))
    resize("resize_not_larger", 18, mode="linear", axes=[2, 3], sizes=(8, 8), keep_aspect_ratio_policy="not_larger")
    g = Graph("resize_crop", 13, x="f 1,1,4,4")
    g.end(g.node("Resize", "x", g.const([0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8]), "", g.ints(1, 1, 3, 3), mode="linear",
                 coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0))
    g = Graph("resize_opset_10", 10, x="f 1,1,3,3")
    g.end(g.node("Resize", "x", g.const([1, 1, 2, 2]), mode="linear"))
    g = Graph("upsample_9", 9, x="f 1,1,3,3")
    g.end(g.node("Upsample", "x", g.const([1, 1, 2, 2]), mode="nearest"))
    one("upsample_7", "Upsample", 7, "f 1,1,3,3", mode="linear", scales=[1.0, 1.0, 2.0, 2.0])
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            one(f"gridsample_{mode}_{padding}", "GridSample", 20, "f 1,2,4,4", "f 1,3,3,2", mode=mode,
                padding_mode=padding, align_corners=int(mode == "cubic"))
    one("gridsample_16", "GridSample", 16, "f 1,1,3,3", "f 1,2,2,2", mode="bilinear")
    one("affinegrid", "AffineGrid", 20, "f 1,2,3", consts=[i64(1, 1, 3, 4)])
    for mode in ("constant", "reflect", "edge"):
        one(f"pad_{mode}", "Pad", 13, "f 1,2,4,4", consts=[i64(0, 0, 1, 2, 0, 0, 2, 1)], mode=mode)
    one("pad_wrap_axes", "Pad", 19, "f 1,2,4,4", consts=[i64(1, 2), i64(3)], order=[0, 1, -1, 2], mode="wrap")
    one("pad_negative", "Pad", 13, "f 1,2,4,4", consts=[i64(0, 0, -1, 1, 0, 0, 1, -2), np.float32(7)])
    one("pad_7", "Pad", 7, "f 2,3", pads=[0, 1, 1, 0], value=2.0)
    one("centercroppad", "CenterCropPad", 18, "f 5,4,3", consts=[i64(3, 6, 3)])
    one("depthtospace", "DepthToSpace", 13, "f 1,8,2,3", blocksize=2)
    one("depthtospace_crd", "DepthToSpace", 13, "f 1,8,2,3", blocksize=2, mode="CRD")
    one("spacetodepth", "SpaceToDepth", 13, "f 1,2,4,6", blocksize=2)


def reductions():
    for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        one(f"reduce{op.lower()}_18", f"Reduce{op}", 18, "f 2,3,4", consts=[i64(1)], keepdims=0)
    one("reducemean_11", "ReduceMean", 11, "f 2,3,4", axes=[-1, 0])
    one("reducesum_noop", "ReduceSum", 13, "f 2,3", consts=[np.zeros(0, np.int64)], noop_with_empty_axes=1)
    one("reducemean_all", "ReduceMean", 13, "f 2,3,4", keepdims=0)
    one("reducemax_int8", "ReduceMax", 13, "c 2,3", kinds="c", axes=[1])
    for op in ("ArgMax", "ArgMin"):
        one(op.lower(), op, 13, "f 2,5,3", kinds="l", axis=1)
        one(f"{op.lower()}_last", op, 13, "f 2,5", kinds="l", axis=-1, keepdims=0, select_last_index=1)
    one("topk", "TopK", 11, "f 2,6", consts=[i64(3)], outs=2, kinds="fl")
    one("topk_smallest", "TopK", 11, "f 6,2", consts=[i64(2)], outs=2, kinds="fl", axis=0, largest=0)
    one("topk_1", "TopK", 7, "f 2,6", outs=2, kinds="fl", k=2)
    one("cumsum", "CumSum", 14, "f 2,5", consts=[np.int32(1)])
    one("cumsum_reverse", "CumSum", 14, "f 2,5", consts=[np.int32(0)], exclusive=1, reverse=1)
    one("cumprod", "CumProd", 26, "f 2,5", consts=[np.int64(1)])
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        one(f"{op.lower()}_13", op, 13, "f 2,3,5", axis=1)
        one(f"{op.lower()}_11", op, 11, "f 2,3,5")
    one("softmax_channels", "Softmax", 13, "f 1,5,4,4", axis=1)
    one("logsumexp_wide", "ReduceLogSumExp", 13, "f 3,50", axes=[1])


def shapes():
    one("reshape", "Reshape", 14, "f 2,3,4", consts=[i64(4, -1)])
    one("reshape_zero", "Reshape", 14, "f 2,3,4", consts=[i64(0, -1)])
    one("flatten", "Flatten", 13, "f 2,3,4", axis=-1)
    one("squeeze_13", "Squeeze", 13, "f 1,3,1,2", consts=[i64(0, 2)])
    one("squeeze_11", "Squeeze", 11, "f 1,3,1,2", axes=[2])
    one("squeeze_all", "Squeeze", 13, "f 1,3,1,2")
    one("unsqueeze_13", "Unsqueeze", 13, "f 3,2", consts=[i64(0, -1)])
    one("unsqueeze_11", "Unsqueeze", 11, "f 3,2", axes=[1])
    one("transpose", "Transpose", 13, "f 2,3,4,5", perm=[0, 2, 3, 1])
    one("transpose_default", "Transpose", 13, "f 2,3,4")
    one("concat", "Concat", 13, "f 1,2,3,3", "f 1,4,3,3", axis=1)
    one("concat_negative", "Concat", 13, "f 2,3", "f 2,1", axis=-1)
    one("split_13", "Split", 13, "f 2,6", consts=[i64(1, 3, 2)], outs=3, axis=1)
    one("split_11", "Split", 11, "f 2,6", outs=2, axis=1)
    one("split_18", "Split", 18, "f 7,2", outs=3, num_outputs=3)
    one("slice_13", "Slice", 13, "f 4,6", consts=[i64(1, -1), i64(4, -6), i64(0, 1), i64(1, -2)])
    one("slice_7", "Slice", 7, "f 4,6", starts=[1], ends=[3], axes=[1])
    one("slice_channels", "Slice", 13, "f 1,8,4,4", consts=[i64(2), i64(6), i64(1)])
    one("tile", "Tile", 13, "f 2,3", consts=[i64(2, 2)])
    one("expand", "Expand", 13, "f 3,1", consts=[i64(2, 1, 4)])
    one("shape", "Shape", 15, "f 2,n,4", kinds="l", start=1)
    one("size", "Size", 13, "f 2,n", kinds="l")
    one("gather", "Gather", 13, "f 5,3", consts=[i64([0, -1], [2, 4]).reshape(2, 2)])
    one("gather_axis", "Gather", 13, "f 2,5", consts=[np.array([1, 0, 3], np.int32)], axis=1)
    one("gather_indices_input", "Gather", 13, "f 4,3", "l 2")
    one("gatherelements", "GatherElements", 13, "f 3,3", consts=[i64(0, 2, 1, 1, 0, -1).reshape(2, 3)])
    one("gathernd", "GatherND", 13, "f 2,3,2", consts=[i64(0, 1, 1, 2).reshape(2, 2)])
    one("gathernd_batch", "GatherND", 13, "f 2,3,2", consts=[i64(1, 2).reshape(2, 1)], batch_dims=1)
    one("scatterelements", "ScatterElements", 18, "f 3,3", consts=[i64(0, 2, 1).reshape(1, 3),
                                                                   f32(7, 8, 9).reshape(1, 3)], reduction="add")
    one("scatter_9", "Scatter", 9, "f 3,3", consts=[i64(0, 2, 1).reshape(1, 3), f32(7, 8, 9).reshape(1, 3)])
    for reduction in ("none", "mul", "max", "min"):
        one(f"scatternd_{reduction}", "ScatterND", 18, "f 4,2", consts=[i64(1, 3).reshape(2, 1),
                                                                       f32(1, 2, 3, 4).reshape(2, 2)],
            reduction=reduction)
    one("tensorscatter", "TensorScatter", 24, "f 1,4,2", "f 1,1,2", consts=[i64(2)])
    one("onehot", "OneHot", 11, "l 3", consts=[np.int64(4), f32(0, 1)])
    one("onehot_axis", "OneHot", 11, "l 2,3", consts=[np.int64(3), f32(-1, 2)], axis=1)
    one("eyelike", "EyeLike", 9, "f 3,4", k=1)
    one("trilu", "Trilu", 14, "f 4,4", upper=0)
    one("trilu_k", "Trilu", 14, "f 2,3,4", consts=[np.int64(1)])
    one("reversesequence", "ReverseSequence", 10, "f 4,2", consts=[i64(3, 2)])
    one("range", "Range", 11, "l", "l", consts=[np.int64(1)], order=[0, 1, 2], kinds="l")
    one("constantofshape", "ConstantOfShape", 9, "l 2",
        value=numpy_helper.from_array(np.array([5], np.float32)))
    one("nonzero", "NonZero", 13, "f 2,3", kinds="l")
    one("compress", "Compress", 11, "f 3,2", "? 3", axis=0)
    one("unique", "Unique", 11, "l 6", outs=4, kinds="llll")
    one("unique_axis", "Unique", 11, "f 3,2", outs=2, kinds="fl", axis=0, sorted=1)
    for kind, value in (("value_float", 2.5), ("value_int", 3), ("value_ints", [1, 2]), ("value_floats", [0.5, 1.5])):
        g = Graph(f"constant_{kind}", 13, x="f 2" if "float" in kind else "l 2")
        g.end(g.node("Mul", "x", g.node("Constant", **{kind: value})), kinds="f" if "float" in kind else "l")
    g = Graph("shape_arithmetic", 13, x="f n,3,h,w")
    size = g.node("Slice", g.node("Shape", "x"), g.ints(2), g.ints(4))
    doubled = g.node("Mul", size, g.ints(2))
    g.end(g.node("Resize", "x", "", "", g.node("Concat", g.node("Slice", g.node("Shape", "x"), g.ints(0), g.ints(2)),
                                               doubled, axis=0), mode="linear"))


def products():
    one("matmul", "MatMul", 13, "f 3,4", "f 4,5")
    one("matmul_batched", "MatMul", 13, "f 2,1,3,4", "f 3,4,2")
    one("matmul_vector", "MatMul", 13, "f 4", "f 4,3")
    one("matmul_weights", "MatMul", 13, "f 7,16", consts=[np.linspace(-1, 1, 16 * 8, dtype=np.float32).reshape(16, 8)])
    one("matmul_double", "MatMul", 13, "d 3,4", "d 4,2", kinds="d")
    one("gemm", "Gemm", 13, "f 3,4", consts=[np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4), f32(1, 2, 3, 4, 5)],
        transB=1, alpha=0.5, beta=2.0)
    one("gemm_transposed", "Gemm", 13, "f 4,3", "f 4,2", transA=1)
    one("einsum_product", "Einsum", 12, "f 3,4", "f 4,2", equation="ij,jk->ik")
    one("einsum_attention", "Einsum", 12, "f 1,2,3,4", "f 1,2,5,4", equation="bhid,bhjd->bhij")
    one("einsum_ellipsis", "Einsum", 12, "f 2,3,4", equation="...ij->...ji")
    one("einsum_trace", "Einsum", 12, "f 3,3", equation="ii")
    one("det", "Det", 11, "f 2,3,3")
    g = Graph("attention", 23, q="f 1,2,3,4", k="f 1,2,5,4", v="f 1,2,5,4")
    g.end(g.node("Attention", "q", "k", "v"))
    g = Graph("attention_causal_gqa", 23, q="f 1,4,3,4", k="f 1,2,3,4", v="f 1,2,3,4")
    g.end(g.node("Attention", "q", "k", "v", is_causal=1))
    g = Graph("rotaryembedding", 23, x="f 1,2,3,4")
    g.end(g.node("RotaryEmbedding", "x", g.weights(3, 2), g.weights(3, 2), g.const([[0, 1, 2]], np.int64)))


def normalisations():
    def channels(name, op, opset, x="f 2,4,3,3", tensors=2, **attributes):
        g = Graph(name, opset, x=x)
        g.end(g.node(op, "x", *[g.weights(4) for _ in range(tensors)], **attributes))

    g = Graph("batchnormalization", 15, x="f 2,3,4,4")
    g.end(g.node("BatchNormalization", "x", g.weights(3), g.weights(3), g.weights(3), g.const([0.5, 1, 2])))
    channels("instancenormalization", "InstanceNormalization", 6 + 1)
    channels("groupnormalization_21", "GroupNormalization", 21, num_groups=2)
    g = Graph("groupnormalization_18", 18, x="f 1,4,3,3")
    g.end(g.node("GroupNormalization", "x", g.weights(2), g.weights(2), num_groups=2))
    channels("layernormalization", "LayerNormalization", 17, x="f 2,3,4")
    channels("layernormalization_bare", "LayerNormalization", 17, x="f 2,3,4", tensors=1, epsilon=0.1)
    g = Graph("layernormalization_axis", 17, x="f 2,3,4")
    g.end(g.node("LayerNormalization", "x", g.weights(3, 4), axis=1))
    channels("rmsnormalization", "RMSNormalization", 23, x="f 2,3,4", tensors=1)
    one("lpnormalization", "LpNormalization", 13, "f 2,5", axis=-1, p=1)
    one("meanvariancenormalization", "MeanVarianceNormalization", 13, "f 2,3,4,4")
    one("lrn", "LRN", 13, "f 1,6,3,3", size=3, alpha=0.01)


def quantised():
    one("quantizelinear", "QuantizeLinear", 13, "f 2,3", consts=[np.float32(0.1), np.uint8(128)], kinds="u")
    one("quantizelinear_axis", "QuantizeLinear", 13, "f 2,3", consts=[f32(0.1, 0.2, 0.5), np.array([0, 1, -2], np.int8)],
        kinds="c", axis=1)
    one("dequantizelinear", "DequantizeLinear", 13, "c 2,3", consts=[np.float32(0.1), np.int8(3)])
    one("dequantizelinear_int32", "DequantizeLinear", 13, "i 2,3", consts=[np.float32(0.1)])
    one("dequantizelinear_blocked", "DequantizeLinear", 21, "c 2,4", consts=[f32([0.1, 0.2], [0.3, 0.4]).reshape(2, 2)],
        axis=1, block_size=2)
    one("dynamicquantizelinear", "DynamicQuantizeLinear", 11, "f 3,4", outs=3, kinds="ufu")
    g = Graph("dequantizelinear_int4", 21, x="f 4")
    g.constants.append(helper.make_tensor("w", TensorProto.INT4, [4], [1, -8, 7, 3]))
    g.end(g.node("Mul", "x", g.node("DequantizeLinear", "w", g.const(np.float32(0.5)))))
    g = Graph("qlinearconv", 10, x="u 1,2,5,5")
    g.end(g.node("QLinearConv", "x", g.const(np.float32(0.02)), g.const(np.uint8(128), np.uint8),
                 g.const(g.random.integers(-100, 100, (3, 2, 3, 3)), np.int8), g.const([0.01, 0.02, 0.005]),
                 g.const([0, 0, 0], np.int8), g.const(np.float32(0.1)), g.const(np.uint8(100), np.uint8),
                 g.const([10, -20, 30], np.int32), pads=[1, 1, 1, 1]), kinds="u")
    g = Graph("qlinearmatmul", 10, x="u 3,4")
    g.end(g.node("QLinearMatMul", "x", g.const(np.float32(0.02)), g.const(np.uint8(120), np.uint8),
                 g.const(g.random.integers(0, 255, (4, 2)), np.uint8), g.const(np.float32(0.01)),
                 g.const(np.uint8(130), np.uint8), g.const(np.float32(0.05)), g.const(np.uint8(100), np.uint8)),
          kinds="u")
    g = Graph("matmulinteger", 10, x="u 3,4")
    g.end(g.node("MatMulInteger", "x", g.const(g.random.integers(-100, 100, (4, 2)), np.int8),
                 g.const(np.uint8(7), np.uint8)), kinds="i")
    g = Graph("convinteger", 10, x="u 1,1,4,4")
    g.end(g.node("ConvInteger", "x", g.const(g.random.integers(-100, 100, (2, 1, 2, 2)), np.int8),
                 g.const(np.uint8(9), np.uint8)), kinds="i")
    for op in ("QLinearAdd", "QLinearMul"):
        g = Graph(op.lower(), 13, x="u 2,3", y="u 3")
        g.opsets["com.microsoft"] = 1
        scale, zero = g.const(np.float32(0.05)), g.const(np.uint8(100), np.uint8)
        g.end(g.node(op, "x", scale, zero, "y", scale, zero, g.const(np.float32(0.1)), zero, domain="com.microsoft"),
              kinds="u")
    for op, attributes in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1})):
        g = Graph(op.lower(), 13, x="u 2,3")
        g.opsets["com.microsoft"] = 1
        scale, zero = g.const(np.float32(0.05)), g.const(np.uint8(100), np.uint8)
        g.end(g.node(op, "x", scale, zero, g.const(np.float32(0.01)), g.const(np.uint8(0), np.uint8),
                     domain="com.microsoft", **attributes), kinds="u")
    g = Graph("qdq_conv", 13, x="f 1,2,6,6")
    zero = g.const(np.uint8(128), np.uint8)

    def qdq(value, scale):
        s = g.const(np.float32(scale))
        return g.node("DequantizeLinear", g.node("QuantizeLinear", value, s, zero), s, zero)

    weight = g.node("DequantizeLinear", g.const(g.random.integers(-100, 100, (4, 2, 3, 3)), np.int8),
                    g.const([0.01, 0.02, 0.01, 0.005]), g.const([0] * 4, np.int8), axis=0)
    y = g.node("Conv", qdq("x", 0.02), weight, g.weights(4), pads=[1, 1, 1, 1])
    g.end(qdq(g.node("Relu", y), 0.05))


def recurrent():
    for op, gates, outs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            g = Graph(f"{op.lower()}_{direction}", 14, x="f 3,2,4")
            g.end(*g.node(op, "x", g.weights(count, gates * 3, 4), g.weights(count, gates * 3, 3),
                          g.weights(count, 2 * gates * 3), outs=outs, hidden_size=3, direction=direction))
    g = Graph("gru_linear", 14, x="f 3,2,4", lengths="i 2", state="f 1,2,3")
    g.end(*g.node("GRU", "x", g.weights(1, 9, 4), g.weights(1, 9, 3), "", "lengths", "state", outs=2, hidden_size=3,
                  linear_before_reset=1))
    g = Graph("lstm_peepholes", 14, x="f 2,1,4")
    g.end(*g.node("LSTM", "x", g.weights(1, 12, 4), g.weights(1, 12, 3), "", "", "", "", g.weights(1, 9), outs=3,
                  hidden_size=3, clip=1.0))


def control_flow():
    def branches():
        add = body("add", [helper.make_node("Add", ["x", "one"], ["a"])], {}, {"a": "f"}, {"one": np.float32(1)})
        times = body("times", [helper.make_node("Mul", ["x", "two"], ["m"])], {}, {"m": "f"}, {"two": np.float32(2)})
        return {"then_branch": add, "else_branch": times}

    g = Graph("if_input", 13, c="?", x="f 2,3")
    g.end(g.node("If", "c", **branches()))
    g = Graph("if_constant", 13, x="f 2,3")
    g.end(g.node("If", g.const(True, np.bool_), **branches()))
    g = Graph("if_shape", 13, x="f n,3")
    rank = g.node("Gather", g.node("Shape", "x"), g.const(0, np.int64))
    g.end(g.node("If", g.node("Equal", rank, g.const(1, np.int64)), **branches()))
    step = body("step", [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Add", ["s", "x"], ["next"]),
                         helper.make_node("Mul", ["next", "next"], ["square"])],
                {"i": "l", "go": "?", "s": "f 3"}, {"go_on": "?", "next": "f", "square": "f"})
    g = Graph("loop", 13, x="f 3")
    g.end(*g.node("Loop", g.const(4, np.int64), g.const(True, np.bool_), g.const([0, 0, 0]), outs=2, body=step))
    g = Graph("loop_trips_input", 13, n="l", x="f 3")
    g.end(*g.node("Loop", "n", "", g.const([0, 0, 0]), outs=2, body=step))
    until = body("until", [helper.make_node("Add", ["s", "half"], ["next"]), helper.make_node("Less", ["next", "x"], ["on"])],
                 {"i": "l", "go": "?", "s": "f 1"}, {"on": "?", "next": "f"}, {"half": np.float32(0.25)})
    g = Graph("loop_until", 13, x="f 1")
    g.end(g.node("Loop", g.const(40, np.int64), g.const(True, np.bool_), g.const([0]), body=until))
    scan = body("scan", [helper.make_node("Add", ["s", "e"], ["next"]), helper.make_node("Identity", ["next"], ["out"])],
                {"s": "f 2", "e": "f 2"}, {"next": "f", "out": "f"})
    g = Graph("scan_9", 13, s="f 2", x="f 5,2")
    g.end(*g.node("Scan", "s", "x", outs=2, body=scan, num_scan_inputs=1))
    g = Graph("scan_reverse", 13, s="f 2", x="f 2,5")
    g.end(*g.node("Scan", "s", "x", outs=2, body=scan, num_scan_inputs=1, scan_input_axes=[1],
                  scan_input_directions=[1], scan_output_axes=[1], scan_output_directions=[1]))
    g = Graph("scan_8", 8, s="f 1,2", x="f 1,5,2")
    g.end(*g.node("Scan", "", "s", "x", outs=2, body=scan, num_scan_inputs=1))
    nested = body("outer", [helper.make_node("Identity", ["go"], ["go_on"]),
                            helper.make_node("Loop", ["two", "", "s"], ["t", "u"], body=step)],
                  {"i": "l", "go": "?", "s": "f 3"}, {"go_on": "?", "t": "f"}, {"two": np.int64(2)})
    g = Graph("loop_nested", 13, x="f 3")
    g.end(g.node("Loop", g.const(3, np.int64), "", g.const([0, 1, 2]), body=nested))
    one("nonmaxsuppression", "NonMaxSuppression", 11, "f 1,6,4", "f 1,2,6",
        consts=[np.int64(3), np.float32(0.5), np.float32(0.1)], kinds="l")
    g = Graph("nonzero_gather", 13, x="f 2,3")
    g.end(g.node("GatherND", "x", g.node("Transpose", g.node("NonZero", "x"))))


def signal():
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        g = Graph(op.lower(), 17, x="f 8")
        g.end(g.node("Mul", "x", g.node(op, g.const(8, np.int64))))
    one("dft", "DFT", 17, "f 1,8,1", axis=1)
    one("dft_inverse", "DFT", 20, "f 1,8,2", consts=[np.int64(1)], order=[0, -1, 1], inverse=1)
    one("dft_onesided", "DFT", 20, "f 1,8,1", consts=[np.int64(1)], order=[0, -1, 1], onesided=1)
    one("stft", "STFT", 17, "f 1,16,1", consts=[np.int64(4), np.ones(8, np.float32), np.int64(8)])
    g = Graph("melweightmatrix", 17, x="f 9,4")
    g.end(g.node("Mul", "x", g.node("MelWeightMatrix", g.const(4, np.int64), g.const(16, np.int64), g.const(8192, np.int64),
                                    g.const(0.0), g.const(4096.0))))
    one("tfidfvectorizer", "TfIdfVectorizer", 9, "i 6", max_gram_length=2, max_skip_count=1, min_gram_length=1,
        mode="TF", ngram_counts=[0, 2], ngram_indexes=[0, 1, 2], pool_int64s=[0, 1, 1, 2])


def formats():
    """Ways to write the same thing that exporters differ in."""
    g = Graph("function", 18, x="f 2,3")
    g.opsets["local"] = 1
    inner = helper.make_node("Mul", ["a", "b"], ["p"])
    leaky = helper.make_node("LeakyRelu", ["p"], ["r"])
    attribute = leaky.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT)
    attribute.ref_attr_name = "slope"
    g.functions.append(helper.make_function("local", "Scaled", ["a", "b"], ["r"], [inner, leaky],
                                            [helper.make_opsetid("", 18)], ["slope"]))
    g.functions.append(helper.make_function("local", "Twice", ["a"], ["r"],
                                            [helper.make_node("Scaled", ["a", "a"], ["m"], domain="local", slope=0.5),
                                             helper.make_node("Scaled", ["m", "a"], ["r"], domain="local", slope=0.1)],
                                            [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]))
    g.end(g.node("Twice", "x", domain="local"))
    g = Graph("initialiser_as_input", 7, x="f 2")
    g.constants.append(numpy_helper.from_array(f32(1, 2), "w"))
    g.inputs.append(Graph.value("w", "f 2"))
    g.end(g.node("Add", "x", "w"))
    kinds = {"float": (TensorProto.FLOAT, [1.5, 2]), "double": (TensorProto.DOUBLE, [1.5, 2]),
             "int32": (TensorProto.INT32, [1, 2]), "int64": (TensorProto.INT64, [1, 2]), "uint64": (TensorProto.UINT64, [1, 2]),
             "float16": (TensorProto.FLOAT16, [1.5, 2]), "int8": (TensorProto.INT8, [-1, 2]), "uint8": (TensorProto.UINT8, [1, 2]),
             "int16": (TensorProto.INT16, [1, 2]), "bool": (TensorProto.BOOL, [1, 0]), "uint4": (TensorProto.UINT4, [3, 15]),
             "uint32": (TensorProto.UINT32, [1, 2]), "bfloat16": (TensorProto.BFLOAT16, [1.5, 2])}
    for name, (kind, values) in kinds.items():
        g = Graph(f"typed_field_{name}", 21, x="f 2")
        g.constants.append(helper.make_tensor("w", kind, [2], values))
        g.end(g.node("Mul", "x", g.node("Cast", "w", to=TYPES["f"])))
    g = Graph("sorted_backwards", 13, x="f 2")
    last = g.node("Relu", "later")
    g.nodes.append(helper.make_node("Neg", ["x"], ["later"]))
    g.end(last)
    g = Graph("metadata", 13, x="f 1,3,4,4")
    g.properties = {"saccade": "input:\n  color: rgb\n", "saccade.input.mean": "[0.5, 0.5, 0.5]"}
    g.end(g.node("Conv", "x", g.weights(1, 3, 1, 1)))
    g = Graph("large_payload", 13, x="f 1,16,4,4")
    g.end(g.node("Conv", "x", g.weights(4, 16, 3, 3), pads=[1, 1, 1, 1]))
    g = Graph("unused_output", 13, x="f 2,4")
    first, _ = g.node("Split", "x", outs=2, axis=1)
    g.end(first)
    g = Graph("input_is_output", 13, x="f 2")
    g.end("x", g.node("Neg", "x"))


def networks():
    def conv(g, x, channels, count, size=3, stride=1, group=1, act="Relu"):
        y = g.node("Conv", x, g.weights(count, channels // group, size, size, scale=0.3), g.weights(count, scale=0.1),
                   pads=[size // 2] * 4, strides=[stride, stride], group=group)
        return g.node(act, y) if act else y

    g = Graph("net_unet", 13, x="f 1,3,16,16")
    a = conv(g, "x", 3, 8)
    b = conv(g, a, 8, 8, stride=2)
    c = conv(g, b, 8, 8, stride=2)
    up = g.node("Resize", c, "", g.const([1, 1, 2, 2]), mode="linear")
    d = conv(g, g.node("Concat", up, b, axis=1), 16, 8)
    up = g.node("ConvTranspose", d, g.weights(8, 8, 2, 2), strides=[2, 2])
    e = conv(g, g.node("Concat", up, a, axis=1), 16, 1, act=None)
    g.end(g.node("Sigmoid", e))
    g = Graph("net_mobile", 13, x="f 1,3,16,16")
    y = conv(g, "x", 3, 8, stride=2, act="Relu")
    z = conv(g, conv(g, y, 8, 16, size=1), 16, 16, group=16)
    squeeze = conv(g, g.node("GlobalAveragePool", z), 16, 4, size=1)
    gate = g.node("HardSigmoid", conv(g, squeeze, 4, 16, size=1, act=None))
    z = conv(g, g.node("Mul", z, gate), 16, 8, size=1, act=None)
    y = g.node("Add", y, z)
    g.end(g.node("Softmax", g.node("Resize", conv(g, y, 8, 2, size=1, act=None), "", "", g.ints(1, 2, 16, 16),
                                   mode="linear", coordinate_transformation_mode="align_corners"), axis=1))
    g = Graph("net_transformer", 17, x="f 1,6,8")
    y = g.node("LayerNormalization", "x", g.weights(8), g.weights(8))
    q, k, v = (g.node("MatMul", y, g.weights(8, 8, scale=0.3)) for _ in range(3))
    heads = [g.node("Transpose", g.node("Reshape", t, g.ints(1, 6, 2, 4)), perm=[0, 2, 1, 3]) for t in (q, k, v)]
    scores = g.node("Mul", g.node("MatMul", heads[0], g.node("Transpose", heads[1], perm=[0, 1, 3, 2])), g.const(0.5))
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), heads[2])
    joined = g.node("Reshape", g.node("Transpose", mixed, perm=[0, 2, 1, 3]), g.ints(1, 6, 8))
    y = g.node("Add", "x", g.node("MatMul", joined, g.weights(8, 8, scale=0.3)))
    hidden = g.node("MatMul", g.node("LayerNormalization", y, g.weights(8)), g.weights(8, 16, scale=0.3))
    erf = g.node("Add", g.node("Erf", g.node("Div", hidden, g.const(1.4142135))), g.const(1.0))
    gelu = g.node("Mul", g.node("Mul", hidden, erf), g.const(0.5))
    g.end(g.node("Add", y, g.node("MatMul", gelu, g.weights(16, 8, scale=0.3))))
    g = Graph("net_recurrent", 13, x="f 1,3,8,8", state="f 1,4,4,4", ratio="f 4")
    y = conv(g, "x", 3, 4, stride=2)
    gates = g.node("Sigmoid", conv(g, g.node("Concat", y, "state", axis=1), 8, 8, act=None))
    update, reset = g.node("Split", gates, outs=2, axis=1)
    candidate = g.node("Tanh", conv(g, g.node("Concat", y, g.node("Mul", reset, "state"), axis=1), 8, 4, act=None))
    one_minus = g.node("Sub", g.const(1.0), update)
    state = g.node("Add", g.node("Mul", one_minus, "state"), g.node("Mul", update, candidate))
    g.end(g.node("Resize", conv(g, state, 4, 1, act=None), "", g.const([1, 1, 2, 2]), mode="linear"), state)
    g = Graph("net_batchnorm_residual", 13, x="f 1,4,8,8")
    y = conv(g, "x", 4, 4, act=None)
    y = g.node("BatchNormalization", y, g.weights(4), g.weights(4), g.weights(4), g.const([1, 0.5, 2, 1]))
    y = g.node("Relu", g.node("Add", y, "x"))
    y = g.node("Pad", y, g.ints(0, 0, 1, 1, 0, 0, 1, 1))
    g.end(g.node("ArgMax", conv(g, y, 4, 3, size=1, act=None), axis=1), kinds="l")
    g = Graph("net_batch_fixed", 13, x="f 2,3,6,6")
    y = g.node("Flatten", g.node("MaxPool", conv(g, "x", 3, 4), kernel_shape=[2, 2], strides=[2, 2]))
    g.end(g.node("Gemm", y, g.weights(36, 5, scale=0.2), g.weights(5)))
    g = Graph("net_channels_last", 13, x="f 1,6,6,3")
    y = g.node("Transpose", "x", perm=[0, 3, 1, 2])
    y = g.node("Transpose", conv(g, y, 3, 5, act="Sigmoid"), perm=[0, 2, 3, 1])
    g.end(g.node("Mul", y, g.weights(5)))


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus" / "onnx"
    folder.mkdir(parents=True, exist_ok=True)
    for group in (elementwise, convolutions, pools, resizing, reductions, shapes, products, normalisations, quantised,
                  recurrent, control_flow, signal, formats, networks):
        group()
    for name, content in models.items():
        (folder / f"{name}.onnx").write_bytes(content)
    print(f"{len(models)} models, {sum(map(len, models.values()))} bytes, in {folder}")


if __name__ == "__main__":
    main()
