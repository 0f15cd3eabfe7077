"""Small networks with random weights, built the way that networks which people export are built: U²-Net, RVM, MODNet, SegFormer, DPT, Swin, …

NETWORKS: name → Entry. An entry makes the network, names its inputs and outputs, says which of their dimensions may vary, and lists the inputs of a
few runs in which sizes alternate.
"""
import dataclasses
import typing

import torch

import zoo_convolutional as convolutional
import zoo_transformers as transformers
from export_models import MODELS, UNet, calibrated, variation

PICTURE = {2: "height", 3: "width"}


@dataclasses.dataclass
class Entry:
    make: typing.Callable
    runs: typing.Callable = lambda height, width, generator: (torch.randn(1, 3, height, width, generator=generator),)
    inputs: tuple = ("input",)
    outputs: tuple = ("output",)
    axes: dict = None  # dimensions that vary, by the names of inputs and outputs
    sizes: tuple = ((96, 128), (64, 160))
    opset: int = 11  # the least
    exporters: tuple = ("script", "dynamo")
    dynamic: bool = True

    def network(self):
        generator = torch.Generator().manual_seed(3)

        def pictures():
            first, *rest = self.runs(*self.sizes[0], generator)
            contrast, brightness = variation()
            return first.repeat(4, 1, 1, 1) * contrast + brightness, *rest
        return calibrated(self.make, pictures)

    def tensors(self):
        """Inputs of runs on size A, size B, size A again."""
        generator = torch.Generator().manual_seed(5)
        a, b = (self.runs(*size, generator) for size in self.sizes)
        return [a, b, a]

    def dynamic_axes(self):
        return self.axes or {name: PICTURE for name in (*self.inputs, *self.outputs)}


def rvm_runs(height, width, g):
    """No state before the first frame: one zero."""
    return torch.rand(1, 3, height, width, generator=g), torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), torch.tensor([0.375])


def rvm_state_runs(height, width, g):
    return (torch.rand(1, 3, height, width, generator=g), torch.randn(1, 8, height // 4, width // 4, generator=g),
            torch.randn(1, 8, height // 8, width // 8, generator=g), torch.tensor([0.5]))


def rvm(by_factor, runs):
    states = {name: {k: f"{name}_{k}" for k in (1, 2, 3)} for name in ("r1i", "r2i")}
    states |= {name: {k: f"{name}_{k}" for k in (2, 3)} for name in ("r1o", "r2o")}
    return Entry(lambda: convolutional.Rvm(by_factor), runs, ("src", "r1i", "r2i", "downsample_ratio"), ("fgr", "pha", "r1o", "r2o"),
                 {"src": PICTURE, "fgr": PICTURE, "pha": PICTURE, **states}, exporters=("script",))


def prompt_runs(height, width, g):
    return (torch.randn(1, 3, height, width, generator=g), torch.rand(1, height // 24, 2, generator=g) * 64,
            torch.randint(-1, 3, (1, height // 24), generator=g))


def outputs(count):
    return tuple(f"output{k}" for k in range(count))


def humanseg(adaptive):
    return Entry(lambda: convolutional.Humanseg(adaptive), outputs=("logits", "probabilities", "classes"),
                 axes={"input": PICTURE, "logits": PICTURE, "probabilities": PICTURE, "classes": {1: "height", 2: "width"}})


def zoo_network(name):
    return Entry(lambda: MODELS[name](5))


NETWORKS = {
    "lraspp_mnv3": zoo_network("lraspp_mnv3"),
    "dlv3_mnv3": zoo_network("dlv3_mnv3"),
    "dlv3_r50": zoo_network("dlv3_r50"),
    "fcn_r50": zoo_network("fcn_r50"),
    "unet_transposed": Entry(lambda: UNet(2, base=8)),
    "unet_bilinear": Entry(lambda: UNet(2, base=8, bilinear=True)),
    "segformer": Entry(lambda: transformers.Segformer(True), opset=12),
    "segformer_matmul": Entry(lambda: transformers.Segformer(False)),
    "rvm_factor": rvm(True, rvm_runs),
    "rvm_size": rvm(False, rvm_runs),
    "rvm_states": rvm(True, rvm_state_runs),
    "u2net": Entry(convolutional.U2Net, outputs=outputs(4), sizes=((97, 131), (64, 75))),
    "birefnet": Entry(convolutional.Birefnet),
    "modnet": Entry(convolutional.Modnet),
    "humanseg": humanseg(False),
    "humanseg_adaptive": humanseg(True),
    "hrnet": Entry(convolutional.Hrnet),
    "bag": Entry(convolutional.Bag),
    "interpolations": Entry(convolutional.Interpolations, outputs=outputs(26), axes={"input": PICTURE, **{n: {1: "h", 2: "w"} for n in outputs(26)}},
                            sizes=((24, 33), (20, 41))),
    "antialiased": Entry(convolutional.Antialiased, outputs=outputs(4), axes={"input": PICTURE}, opset=18),
    "warp_bilinear": Entry(lambda: convolutional.Warp("bilinear", "zeros", False), opset=16),
    "warp_border": Entry(lambda: convolutional.Warp("bilinear", "border", True), opset=16),
    "warp_nearest": Entry(lambda: convolutional.Warp("nearest", "reflection", False), opset=16),
    "warp_bicubic": Entry(lambda: convolutional.Warp("bicubic", "reflection", True), opset=16),
    "deformable": Entry(convolutional.Deformable, opset=19, sizes=((24, 40), (33, 20))),
    "dpt": Entry(transformers.Dpt, axes={"input": PICTURE, "output": {1: "height", 2: "width"}}),
    "swin": Entry(transformers.Swin, sizes=((72, 88), (96, 64))),
    "maskformer": Entry(transformers.Maskformer, opset=12),
    "mobilevit": Entry(transformers.Mobilevit),
    "promptable": Entry(transformers.Promptable, prompt_runs, ("input", "points", "kinds"), ("masks", "scores", "best"),
                        {"input": PICTURE, "points": {1: "count"}, "kinds": {1: "count"}, "masks": PICTURE, "best": PICTURE}),
    "crnn": Entry(transformers.Crnn, sizes=((32, 100), (32, 61)), axes={"input": {3: "width"}, "output": {1: "steps"}}),
    "volume": Entry(transformers.Volume, lambda h, w, g: (torch.randn(1, 1, 8, h, w, generator=g),), outputs=("output", "enlarged"),
                    axes={n: {3: "height", 4: "width"} for n in ("input", "output", "enlarged")}, sizes=((16, 24), (24, 20))),
}
