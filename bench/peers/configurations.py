"""The peers and their configurations: for each engine and class of precision the settings its documentation recommends for the
latency of one input on a CPU. Where the best one depends on the network there are several, and the fastest counts.

A class of precision is what the answer may cost: `fp32`; `bf16`, 16-bit storage or arithmetic; `int8`, quantised weights and
activations. What was really executed is reported beside each figure.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Configuration:
    engine: str      # a module of engines/
    kind: str        # class of precision
    setting: str     # what sets this one apart from the engine's others
    model: str       # kind of model file it reads (networks.py)
    options: dict = dataclasses.field(default_factory=dict, hash=False)
    cap: dict = None  # environment that keeps it to AVX2; None: it cannot be kept

    @property
    def name(self):
        return f"{self.engine}/{self.kind}/{self.setting}"


ONEDNN_CAP = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
TORCH_CAP = {**ONEDNN_CAP, "ATEN_CPU_CAPABILITY": "avx2", "SACCADE_BENCH_INDUCTOR_BITS": "256"}


def _openvino(kind, model, precision):
    return Configuration("open_vino", kind, "latency", model, {"INFERENCE_PRECISION_HINT": precision}, ONEDNN_CAP)


def _ncnn(kind, setting, **options):
    return Configuration("ncnn_net", kind, setting, "ncnn", options)


def _mnn(kind, setting, model="mnn", **options):
    return Configuration("mnn_module", kind, setting, model, options)


def _torch(kind, setting, **options):
    return Configuration("pytorch", kind, setting, "plain", options, TORCH_CAP)


CONFIGURATIONS = [
    Configuration("onnx_runtime", "fp32", "bound", "onnx"),
    Configuration("onnx_runtime", "int8", "bound", "int8"),
    _openvino("fp32", "onnx", "f32"),
    _openvino("bf16", "onnx", "bf16"),
    _openvino("int8", "int8", "f32"),
    _ncnn("fp32", "winograd", winograd=True),
    _ncnn("fp32", "sgemm", winograd=False),
    _ncnn("bf16", "winograd", winograd=True, bf16=True),
    _ncnn("bf16", "sgemm", winograd=False, bf16=True),
    _mnn("fp32", "high", precision="high"),
    _mnn("fp32", "normal", precision="normal"),
    _mnn("bf16", "low", precision="low"),
    _mnn("int8", "weights", "mnn8", precision="normal", memory="low"),
    Configuration("litert", "fp32", "xnnpack", "tflite"),
    _torch("fp32", "eager"),
    _torch("fp32", "compiled", compile=True),
    _torch("bf16", "eager", bf16=True),
    _torch("bf16", "compiled", compile=True, bf16=True),
]

# What agreement is measured against: fp32 as the file has it.
REFERENCE = Configuration("onnx_runtime", "fp32", "reference", "onnx", {"plain": True})

# Why an engine has no configuration of a class: printed, so that no cell is empty without a reason.
LACKING = {
    ("onnx_runtime", "bf16"): "no bf16 arithmetic on x86",
    ("ncnn_net", "int8"): "no quantiser in the package",
    ("litert", "bf16"): "no bf16 kernels for x86",
    ("litert", "int8"): "no quantised TFLite file of the network",
    ("pytorch", "int8"): "needs torchao, not set up here",
}

ENGINES = {"onnx_runtime": "ONNX Runtime", "open_vino": "OpenVINO", "ncnn_net": "ncnn", "mnn_module": "MNN", "litert": "LiteRT",
           "pytorch": "PyTorch"}
KINDS = ["fp32", "bf16", "int8"]


def by_name(name):
    for configuration in [*CONFIGURATIONS, REFERENCE]:
        if configuration.name == name:
            return configuration
    raise ValueError(f"unknown configuration {name}")
