"""OpenVINO: the latency hint, one stream, the precision asked for by hint; tensors shared with the caller."""
import collections

import openvino

IDLE = {"Const", "Input", "Output", "Reshape"}


def version():
    return openvino.__version__.split("-")[0]


class Engine:
    def __init__(self, compiled, x):
        self.compiled = compiled
        self.request = compiled.create_infer_request()
        self.x = x
        self.request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def run(self):
        # Not infer(): that builds a dictionary of all results.
        self.request.start_async(None, True)
        self.request.wait()

    def outputs(self):
        return [self.request.get_output_tensor(k).data.copy() for k in range(len(self.compiled.outputs))]

    def precision(self):
        """Steps by the precision and the kernels that the compiled model names."""
        counts, kernels = collections.Counter(), set()
        for node in self.compiled.get_runtime_model().get_ops():
            about = {key: str(value.astype(str) if hasattr(value, "astype") else value) for key, value in node.get_rt_info().items()
                     if key in ("layerType", "runtimePrecision", "primitiveType")}
            if about.get("layerType") in IDLE or "runtimePrecision" not in about:
                continue
            counts[about["runtimePrecision"]] += 1
            if about["layerType"] in ("Convolution", "Deconvolution", "FullyConnected"):
                kernels.add(about.get("primitiveType", ""))
        return {"steps": dict(counts.most_common()), "kernels": sorted(kernels)}


def load(model, options, threads, x):
    settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads, **options}
    return Engine(openvino.Core().compile_model(model, "CPU", settings), x)
