"""ncnn: packed layouts and light mode, with and without Winograd convolutions; 16-bit storage off for fp32."""
import ncnn
import numpy


def version():
    return ncnn.__version__


class Engine:
    def __init__(self, net, x):
        self.net = net
        self.names = sorted(net.output_names(), key=lambda name: int(name.removeprefix("out")))  # the net's order is another
        self.x = ncnn.Mat(x[0]).clone()  # without the batch
        self.results = []

    def run(self):
        # Every output is asked for, as the others compute all.
        with self.net.create_extractor() as extractor:
            extractor.set_light_mode(True)
            extractor.input("in0", self.x)
            self.results = []
            for name in self.names:
                status, result = extractor.extract(name)
                if status != 0:
                    raise RuntimeError(f"extracting {name} failed with status {status}")
                self.results.append(result)

    def outputs(self):
        return [numpy.array(result)[None] for result in self.results]

    def precision(self):
        return None  # it does not say


def load(model, options, threads, x):
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    net.opt.lightmode = True
    net.opt.use_packing_layout = True
    net.opt.use_sgemm_convolution = True
    net.opt.use_winograd_convolution = options["winograd"]
    net.opt.use_bf16_storage = options.get("bf16", False)
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    if net.load_param(model) != 0 or net.load_model(model.removesuffix(".param") + ".bin") != 0:
        raise RuntimeError(f"cannot load {model}: an unknown layer, see the log")
    return Engine(net, x)
