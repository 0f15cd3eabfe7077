#!/usr/bin/env python3
"""Writes the end of a segmentation network as ONNX: bilinear enlargement of class logits, then the largest class of each pixel.

    tail.py FILE.onnx [--classes 21] [--size 64] [--factor 8]

Needs the Python package onnx.
"""
import argparse

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(classes, size, factor):
    sizes = numpy_helper.from_array(numpy.array([1, classes, size * factor, size * factor], numpy.int64), "sizes")
    nodes = [helper.make_node("Resize", ["logits", "", "", "sizes"], ["large"], mode="linear",
                              coordinate_transformation_mode="half_pixel"),
             helper.make_node("ArgMax", ["large"], ["classes"], axis=1, keepdims=0)]
    graph = helper.make_graph(nodes, "tail", [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, classes, size, size])],
                              [helper.make_tensor_value_info("classes", TensorProto.INT64, [1, size * factor, size * factor])], [sizes])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def main():
    parser = argparse.ArgumentParser(description="Write an enlargement with ArgMax as ONNX.")
    parser.add_argument("file")
    parser.add_argument("--classes", type=int, default=21)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--factor", type=int, default=8)
    args = parser.parse_args()
    onnx.save(model(args.classes, args.size, args.factor), args.file)


if __name__ == "__main__":
    main()
