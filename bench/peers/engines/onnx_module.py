"""An ONNX network as a PyTorch module: the operators of convolutional segmentation networks whose shapes are constant.

The module is straight-line code (a torch.fx graph), which torch.compile takes as a whole.
"""
import onnx
import torch
from onnx import numpy_helper
from torch import fx, nn
from torch.nn import functional as F


def _pads(attributes):
    """(padding of the module, explicit padding or None): PyTorch pads both sides alike."""
    pads = attributes.get("pads", [0, 0, 0, 0])
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise NotImplementedError("auto_pad")
    top, left, bottom, right = pads
    if top == bottom and left == right:
        return (top, left), None
    return (0, 0), (left, right, top, bottom)


class Builder:
    def __init__(self, model):
        self.graph = fx.Graph()
        self.root = nn.Module()
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.values = {}
        for value in model.graph.input:
            if value.name not in self.constants:
                self.values[value.name] = self.graph.placeholder("x")
        for node in model.graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                self.constants[node.output[0]] = numpy_helper.to_array(attributes["value"])
                continue
            rule = getattr(self, "op_" + node.op_type, None)
            if rule is None:
                raise NotImplementedError(f"operator {node.op_type}")
            self.values[node.output[0]] = rule(node, attributes)
        self.graph.output(tuple(self.values[value.name] for value in model.graph.output))

    def value(self, name):
        """An operand: computed, or a constant of the module."""
        if name in self.values:
            return self.values[name]
        tensor = torch.tensor(self.constants[name])
        if tensor.ndim == 0:
            return tensor.item()
        self.values[name] = self.held(nn.Buffer(tensor))
        return self.values[name]

    def held(self, what):
        name = f"n{len(self.root._modules) + len(self.root._buffers)}"
        setattr(self.root, name, what)
        return self.graph.get_attr(name) if isinstance(what, torch.Tensor) else name

    def call(self, function, *arguments, **options):
        return self.graph.call_function(function, arguments, options)

    def constant(self, node, index):
        name = node.input[index] if index < len(node.input) else ""
        return self.constants[name] if name else None

    def _conv(self, node, attributes, kind):
        x = self.value(node.input[0])
        weights = torch.tensor(self.constants[node.input[1]])
        bias = self.constant(node, 2)
        padding, explicit = _pads(attributes)
        group = attributes.get("group", 1)
        transposed = kind is nn.ConvTranspose2d
        if explicit:
            if transposed:
                raise NotImplementedError("transposed convolution with uneven padding")
            x = self.call(F.pad, x, explicit)
        cin, cout = (weights.shape[0], weights.shape[1] * group) if transposed else (weights.shape[1] * group, weights.shape[0])
        layer = kind(cin, cout, tuple(weights.shape[2:]), stride=tuple(attributes.get("strides", [1, 1])), padding=padding,
                     dilation=tuple(attributes.get("dilations", [1, 1])), groups=group, bias=bias is not None)
        layer.weight = nn.Parameter(weights, requires_grad=False)
        if bias is not None:
            layer.bias = nn.Parameter(torch.tensor(bias), requires_grad=False)
        return self.graph.call_module(self.held(layer), (x,))

    def op_Conv(self, node, attributes):
        return self._conv(node, attributes, nn.Conv2d)

    def op_ConvTranspose(self, node, attributes):
        return self._conv(node, attributes, nn.ConvTranspose2d)

    def _binary(function):
        return lambda self, node, attributes: self.call(function, self.value(node.input[0]), self.value(node.input[1]))

    def _unary(function):
        return lambda self, node, attributes: self.call(function, self.value(node.input[0]))

    op_Add, op_Mul, op_Sub, op_Div = _binary(torch.add), _binary(torch.mul), _binary(torch.sub), _binary(torch.div)
    op_Relu, op_Sigmoid, op_HardSwish = _unary(F.relu), _unary(torch.sigmoid), _unary(F.hardswish)

    def op_Identity(self, node, attributes):
        return self.value(node.input[0])

    def op_HardSigmoid(self, node, attributes):
        x = self.value(node.input[0])
        if abs(attributes.get("alpha", 0.2) - 1 / 6) < 1e-6 and attributes.get("beta", 0.5) == 0.5:
            return self.call(F.hardsigmoid, x)
        scaled = self.call(torch.add, self.call(torch.mul, x, attributes.get("alpha", 0.2)), attributes.get("beta", 0.5))
        return self.call(torch.clamp, scaled, 0.0, 1.0)

    def op_Clip(self, node, attributes):
        low = attributes.get("min", None if self.constant(node, 1) is None else self.constant(node, 1).item())
        high = attributes.get("max", None if self.constant(node, 2) is None else self.constant(node, 2).item())
        return self.call(torch.clamp, self.value(node.input[0]), low, high)

    def op_Concat(self, node, attributes):
        return self.call(torch.cat, [self.value(name) for name in node.input], attributes["axis"])

    def op_MaxPool(self, node, attributes):
        padding, explicit = _pads(attributes)
        if explicit:
            raise NotImplementedError("pooling with uneven padding")
        return self.call(F.max_pool2d, self.value(node.input[0]), tuple(attributes["kernel_shape"]),
                         stride=tuple(attributes.get("strides", [1, 1])), padding=padding,
                         dilation=tuple(attributes.get("dilations", [1, 1])), ceil_mode=bool(attributes.get("ceil_mode", 0)))

    def op_GlobalAveragePool(self, node, attributes):
        return self.call(F.adaptive_avg_pool2d, self.value(node.input[0]), 1)

    def op_AveragePool(self, node, attributes):
        padding, explicit = _pads(attributes)
        if explicit:
            raise NotImplementedError("pooling with uneven padding")
        return self.call(F.avg_pool2d, self.value(node.input[0]), tuple(attributes["kernel_shape"]),
                         stride=tuple(attributes.get("strides", [1, 1])), padding=padding,
                         ceil_mode=bool(attributes.get("ceil_mode", 0)), count_include_pad=bool(attributes.get("count_include_pad", 0)))

    def op_ReduceMean(self, node, attributes):
        axes = attributes.get("axes") or self.constant(node, 1).tolist()
        return self.call(torch.mean, self.value(node.input[0]), tuple(axes), bool(attributes.get("keepdims", 1)))

    def op_Resize(self, node, attributes):
        mode, where = attributes.get("mode", b"nearest"), attributes.get("coordinate_transformation_mode", b"half_pixel")
        if mode != b"linear" or where not in (b"half_pixel", b"pytorch_half_pixel", b"align_corners"):
            raise NotImplementedError(f"Resize {mode.decode()} {where.decode()}")
        sizes, scales = self.constant(node, 3), self.constant(node, 2)
        how = ({"size": tuple(int(n) for n in sizes[2:])} if sizes is not None
               else {"scale_factor": tuple(float(n) for n in scales[2:])})
        return self.call(F.interpolate, self.value(node.input[0]), mode="bilinear", align_corners=where == b"align_corners", **how)

    def op_ArgMax(self, node, attributes):
        return self.call(torch.argmax, self.value(node.input[0]), attributes.get("axis", 0), bool(attributes.get("keepdims", 1)))


def module_of(path):
    """The network of an ONNX file. Raises NotImplementedError for an operator or attribute it does not know."""
    builder = Builder(onnx.load(path))
    return fx.GraphModule(builder.root, builder.graph)
