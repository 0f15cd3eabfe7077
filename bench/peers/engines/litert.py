"""LiteRT: the interpreter with its default delegate, XNNPACK."""
import collections
import importlib.metadata

from ai_edge_litert.interpreter import Interpreter


def version():
    return importlib.metadata.version("ai-edge-litert")


class Engine:
    def __init__(self, interpreter, x):
        self.interpreter = interpreter
        (only,) = interpreter.get_input_details()
        interpreter.set_tensor(only["index"], x)

    def run(self):
        self.interpreter.invoke()

    def outputs(self):
        return [self.interpreter.get_tensor(detail["index"]) for detail in self.interpreter.get_output_details()]

    def precision(self):
        steps = collections.Counter(detail["op_name"] for detail in self.interpreter._get_ops_details())
        return {"delegated parts": steps.get("DELEGATE", 0)}


def load(model, options, threads, x):
    interpreter = Interpreter(model, num_threads=threads)
    interpreter.allocate_tensors()
    return Engine(interpreter, x)
