"""The networks of the comparison, and the inputs they are run on.

Files lie under build/models, made by `setup`: NAME.onnx as exported, NAME.plain.onnx with what is constant folded (for converters
and PyTorch), NAME.int8.onnx quantised by ONNX Runtime's tool, ncnn/NAME.param and .bin, mnn/NAME.mnn.
"""
import array
import dataclasses
import math
import random

PORTRAIT = "portrait.ppm"  # among the models, made by `setup`: masks of people need people
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    title: str
    shape: tuple        # of the input: batch, channels, height, width
    content: str        # of the input: picture (0 to 1), normalised (a picture as torchvision's networks want it), logits
    tflite: str = None  # the file, where the network is published as TFLite
    int8: bool = False
    onnx: str = None    # another name than NAME.onnx, or a path
    picture: str = None      # among the models: the input, where that is not the portrait
    calibration: str = None  # a folder of pictures among the models: for int8 and auto, where that is not the input

    def file(self, folder, kind):
        """The model file of a kind that contenders read, or None where the network has none."""
        if kind == "tflite":
            return folder / self.tflite if self.tflite else None
        if kind in ("int8", "mnn8") and not self.int8:
            return None
        onnx = folder / (self.onnx or f"{self.name}.onnx")
        return {"onnx": onnx, "plain": folder / f"{self.name}.plain.onnx", "int8": folder / f"{self.name}.int8.onnx",
                "ncnn": folder / "ncnn" / f"{self.name}.param", "mnn": folder / "mnn" / f"{self.name}.mnn",
                "mnn8": folder / "mnn" / f"{self.name}.int8.mnn", "saccade": folder / self.tflite if self.tflite else onnx}[kind]


NETWORKS = [
    Network("selfie", "selfie 256²", (1, 3, 256, 256), "picture", "selfie_segmentation.tflite"),
    Network("selfie_landscape", "selfie 144×256", (1, 3, 144, 256), "picture", "selfie_segmentation_landscape.tflite"),
    Network("lraspp_mnv3", "LR-ASPP-MNv3", (1, 3, 512, 512), "normalised", int8=True),
    Network("dlv3_mnv3", "DeepLabV3-MNv3", (1, 3, 512, 512), "normalised", int8=True),
    Network("dlv3_r50", "DeepLabV3-R50", (1, 3, 512, 512), "normalised", int8=True),
    Network("unet64", "U-Net-64", (1, 3, 512, 512), "normalised", int8=True),
    Network("unet64_shapes", "U-Net-64, trained", (1, 3, 512, 512), "normalised", int8=True,
            picture="unet64_shapes/held/05.ppm", calibration="unet64_shapes/calibration"),
    Network("u2netp", "U²-Netp 320²", (1, 3, 320, 320), "normalised"),
    Network("tail", "upsample 64²×21 → 512² + argmax", (1, 21, 64, 64), "logits"),
]

BY_DEFAULT = [network for network in NETWORKS if network.calibration is None]  # the others are trained first


def by_name(names):
    known = {network.name: network for network in NETWORKS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown network {', '.join(unknown)}; known: {', '.join(known)}")
    return [known[name] for name in names]


def drawn_picture(height, width):
    """Pixels of a picture that needs no file, three colours each: a bright shape before waves, with some noise."""
    noise = random.Random(7)
    for y in range(height):
        v = y / height
        for x in range(width):
            u = x / width
            shape = 1 / (1 + math.exp(40 * (math.hypot((u - 0.5) / 0.8, (v - 0.6) / 1.2) - 0.3)))
            wave = 0.5 + 0.25 * math.sin(19 * u + 5 * v) * math.cos(13 * v)
            for tint in (0.8, 0.55, 0.45):
                yield min(max(shape * tint + (1 - shape) * wave * (1.2 - tint) + 0.04 * (noise.random() - 0.5), 0.0), 1.0)


def photograph(path, height, width):
    """Pixels of a PPM file (binary, 8 bits), shrunk by averaging: each of the picture's is the mean of those that it covers."""
    raw = path.read_bytes()
    magic, columns, rows, most, _ = raw.split(maxsplit=4)
    if magic != b"P6" or most != b"255":
        raise ValueError(f"{path}: not a binary PPM of 8 bits")
    rows, columns = int(rows), int(columns)
    pixels = raw[-3 * rows * columns:]  # split() also takes leading pixels that look like white space
    for y in range(height):
        lines = range(y * rows // height, max((y + 1) * rows // height, y * rows // height + 1))
        for x in range(width):
            covered = range(x * columns // width, max((x + 1) * columns // width, x * columns // width + 1))
            for c in range(3):
                total = sum(pixels[3 * (line * columns + column) + c] for line in lines for column in covered)
                yield total / (255 * len(lines) * len(covered))


def input_of(network, portrait=None):
    """The input's elements in the order (pixel, channel), as 32-bit numbers. `portrait`: a PPM file, where there is one."""
    _, channels, height, width = network.shape
    if network.content == "logits":
        normal = random.Random(7).gauss
        return array.array("f", (normal(0, 1) for _ in range(channels * height * width)))
    if channels != 3:
        raise ValueError(f"{network.name}: an input of {channels} channels is not a picture")
    there = portrait is not None and portrait.is_file()
    pixels = photograph(portrait, height, width) if there else drawn_picture(height, width)
    if network.content == "normalised":
        pixels = ((value - MEAN[k % 3]) / DEVIATION[k % 3] for k, value in enumerate(pixels))
    return array.array("f", pixels)


def planes_of(values, channels):
    """Elements in the order (pixel, channel) as channel after channel."""
    return array.array("f", (values[k] for c in range(channels) for k in range(c, len(values), channels)))


def calibration_inputs(network, models):
    """Inputs from the pictures for calibration, each in the order (channel, pixel)."""
    if network.calibration is None:
        return []
    return [planes_of(input_of(network, file), network.shape[1]) for file in sorted((models / network.calibration).glob("*.ppm"))]


def write_calibration(network, folder, models):
    """Writes them behind each other; returns the file, or None where the network has none."""
    inputs = calibration_inputs(network, models)
    if not inputs:
        return None
    path = folder / f"{network.name}.calibration.f32"
    path.write_bytes(b"".join(values.tobytes() for values in inputs))
    return path


def write_input(network, folder, portrait=None):
    """Writes the input in both orders; returns {"nchw": (file, shape), "nhwc": (file, shape)}."""
    _, channels, height, width = network.shape
    last = input_of(network, portrait)
    planes = planes_of(last, channels)
    files = {}
    for order, values, shape in (("nhwc", last, (1, height, width, channels)), ("nchw", planes, network.shape)):
        path = folder / f"{network.name}.{order}.f32"
        path.write_bytes(values.tobytes())
        files[order] = (path, "x".join(map(str, shape)))
    return files
