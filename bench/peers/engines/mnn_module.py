"""MNN: the module interface, high power; the precision and memory modes as asked."""
import MNN
import MNN.expr as expr
import MNN.nn as nn
import numpy


def version():
    return MNN.version()


class Engine:
    def __init__(self, net, x, outputs):
        self.net = net
        self.names = outputs
        self.x = expr.placeholder(list(x.shape), expr.NCHW, expr.float)
        self.x.write(x)
        self.results = []

    def run(self):
        results = self.net.forward([self.x])
        for result in results:
            result.getMutable() if hasattr(result, "getMutable") else result.read()  # evaluation is lazy
        self.results = results

    def outputs(self):
        arrays = []
        for result in self.results:
            if result.data_format == expr.NC4HW4:
                result = expr.convert(result, expr.NCHW)
            arrays.append(numpy.array(result.read()).reshape(result.shape))
        return arrays

    def precision(self):
        return None  # it does not say


def load(model, options, threads, x):
    with open(model + ".names") as file:  # written beside the model: the module wants the names of its ends
        inputs, outputs = [line.split() for line in file.read().splitlines()]
    runtime = nn.create_runtime_manager(({"backend": 0, "numThread": threads, "power": "high", **options},))
    net = nn.load_module_from_file(model, inputs, outputs, runtime_manager=runtime, shape_mutable=False)
    if net is None:
        raise RuntimeError(f"cannot load {model}")
    return Engine(net, x, outputs)
