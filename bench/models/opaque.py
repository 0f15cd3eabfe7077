#!/usr/bin/env python3
"""A network that does all its work and finds everything in the foreground: for comparisons of jobs whose pictures must not depend on it.

    bench/models/opaque.py MODEL.onnx OUT.onnx [--small SMALL.onnx]

The first output becomes 1 + 1e-30 x, which is 1 in single precision. SMALL.onnx gets a network of the same input and output that does next
to nothing.
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def opaque(path, out):
    model = onnx.load(path)
    graph = model.graph
    name = graph.output[0].name
    for node in graph.node:
        for i, output in enumerate(node.output):
            if output == name:
                node.output[i] = name + ":before"
        for i, source in enumerate(node.input):
            if source == name:
                node.input[i] = name + ":before"
    graph.initializer.append(numpy_helper.from_array(np.array(1e-30, np.float32), "opaque:factor"))
    graph.initializer.append(numpy_helper.from_array(np.array(1, np.float32), "opaque:one"))
    graph.node.append(helper.make_node("Mul", [name + ":before", "opaque:factor"], [name + ":scaled"]))
    graph.node.append(helper.make_node("Add", [name + ":scaled", "opaque:one"], [name]))
    del graph.output[1:]
    onnx.save(model, out)
    return model


def small(model, out):
    """One convolution to a channel, and the same end."""
    given, result = model.graph.input[0], model.graph.output[0]
    channels = given.type.tensor_type.shape.dim[1].dim_value
    filters = helper.make_tensor("filters", TensorProto.FLOAT, [1, channels, 1, 1], [0.1] * channels)
    factor = helper.make_tensor("factor", TensorProto.FLOAT, [], [1e-30])
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    nodes = [helper.make_node("Conv", [given.name, "filters"], ["sum"]), helper.make_node("Mul", ["sum", "factor"], ["scaled"]),
             helper.make_node("Add", ["scaled", "one"], [result.name])]
    graph = helper.make_graph(nodes, "small", [given], [result], [filters, factor, one])
    onnx.save(helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version), out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--small")
    args = parser.parse_args()
    model = opaque(args.model, args.out)
    if args.small:
        small(model, args.small)


if __name__ == "__main__":
    main()
