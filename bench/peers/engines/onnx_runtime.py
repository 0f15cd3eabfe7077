"""ONNX Runtime: all graph optimisations, inputs and outputs bound once, so that a run neither copies nor allocates."""
import numpy
import onnxruntime


def version():
    return onnxruntime.__version__


class Engine:
    def __init__(self, session, x):
        self.session = session
        self.binding = session.io_binding()
        (only,) = session.get_inputs()
        self.binding.bind_ortvalue_input(only.name, onnxruntime.OrtValue.ortvalue_from_numpy(x))
        for value in session.get_outputs():  # their shapes are known after a first run
            self.binding.bind_output(value.name)
        session.run_with_iobinding(self.binding)
        self.results = [onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(value.numpy()))
                        for value in self.binding.get_outputs()]
        for value, result in zip(session.get_outputs(), self.results):
            self.binding.bind_ortvalue_output(value.name, result)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return [result.numpy() for result in self.results]

    def precision(self):
        return None  # it does not say


def load(model, options, threads, x):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    settings.graph_optimization_level = (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL if options.get("plain")
                                         else onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    return Engine(onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"]), x)
