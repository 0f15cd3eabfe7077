"""PyTorch: channels last, inference mode, batch norms folded; eager, or compiled with frozen weights. bf16 by autocast."""
import os

import torch

from engines.onnx_module import module_of


def version():
    return torch.__version__.split("+")[0]


class Engine:
    def __init__(self, net, x, bf16, mode):
        self.net = net
        self.x = x
        self.bf16 = bf16
        self.mode = mode
        self.results = ()

    def run(self):
        with self.mode(), torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            self.results = self.net(self.x)

    def outputs(self):
        return [y.float().numpy() if y.is_floating_point() else y.numpy() for y in self.results]

    def precision(self):
        return None  # it does not say


def load(model, options, threads, x):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    net = module_of(model).eval().to(memory_format=torch.channels_last)
    if options.get("compile"):
        import torch._inductor.config as inductor
        inductor.freezing = True
        inductor.compile_threads = threads
        if bits := os.environ.get("SACCADE_BENCH_INDUCTOR_BITS"):
            inductor.cpp.simdlen = int(bits)
        net = torch.compile(net)
    mode = torch.no_grad if options.get("compile") else torch.inference_mode  # freezing refuses inference tensors
    engine = Engine(net, torch.from_numpy(x).to(memory_format=torch.channels_last), options.get("bf16", False), mode)
    engine.run()  # compiling happens in the first run and belongs to loading
    return engine
