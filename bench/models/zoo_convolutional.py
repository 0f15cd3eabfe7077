"""Convolutional networks for zoo.py."""
import torch
from torch import nn
from torch.nn import functional as F


def conv(cin, cout, kernel=3, stride=1, dilation=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(cin, cout, kernel, stride, dilation * (kernel // 2), dilation, groups, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, *([act()] if act else []))


def like(x, y, mode="bilinear", align_corners=False):
    """x at the size of y: shape arithmetic in the exported graph."""
    return F.interpolate(x, size=y.shape[2:], mode=mode, align_corners=align_corners)


# --- U²-Net and its kin -----------------------------------------------------------------------------------------------

class Rsu(nn.Module):
    """A U-Net as a block: pools with ceil_mode, enlargements to the size of the skip connection."""

    def __init__(self, depth, cin, mid, cout):
        super().__init__()
        self.first = conv(cin, cout)
        self.down = nn.ModuleList(conv(cout if k == 0 else mid, mid) for k in range(depth - 1))
        self.bottom = conv(mid, mid, dilation=2)
        self.up = nn.ModuleList(conv(2 * mid, mid if k else cout) for k in reversed(range(depth - 1)))

    def forward(self, x):
        x = first = self.first(x)
        skips = []
        for k, layer in enumerate(self.down):
            x = layer(x)
            skips.append(x)
            if k + 1 < len(self.down):
                x = F.max_pool2d(x, 2, stride=2, ceil_mode=True)
        x = self.bottom(x)
        for layer in self.up:
            skip = skips.pop()
            x = layer(torch.cat((like(x, skip), skip), 1))
        return x + first


class U2Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([Rsu(4, 3, 8, 16), Rsu(3, 16, 8, 24), Rsu(3, 24, 8, 32)])
        self.up = nn.ModuleList([Rsu(3, 56, 8, 24), Rsu(4, 40, 8, 16)])
        self.side = nn.ModuleList(nn.Conv2d(c, 1, 3, padding=1) for c in (16, 24, 32))
        self.out = nn.Conv2d(3, 1, 1)

    def forward(self, x):
        full, skips = x, []
        for k, stage in enumerate(self.down):
            x = stage(F.max_pool2d(x, 2, stride=2, ceil_mode=True) if k else x)
            skips.append(x)
        maps = [skips.pop()]
        for stage in self.up:
            skip = skips.pop()
            maps.insert(0, stage(torch.cat((like(maps[0], skip), skip), 1)))
        sides = [like(side(m), full) for side, m in zip(self.side, maps)]
        return tuple(torch.sigmoid(s) for s in (self.out(torch.cat(sides, 1)), *sides))


class Birefnet(nn.Module):
    """Patches of the picture beside features of every size, global pooling that is enlarged again, several modes of enlargement."""

    def __init__(self):
        super().__init__()
        self.stem, self.deep = conv(3, 16, stride=4), conv(16, 32, stride=2)
        self.patches = conv(3 * 64, 16, 1)
        self.dilated = nn.ModuleList(conv(48, 16, dilation=d) for d in (1, 3, 6))
        self.pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(48, 16, 1), nn.ReLU())
        self.merge, self.lateral, self.out = conv(64, 16), nn.Conv2d(16, 16, 1), nn.Conv2d(16, 1, 1)

    @staticmethod
    def split(x, height, width):
        """Picture → the patches of a grid of height × width, as channels."""
        b, c, h, w = x.shape
        x = x.reshape(b, c, height, h // height, width, w // width)
        return x.permute(0, 1, 3, 5, 2, 4).reshape(b, c * (h // height) * (w // width), height, width)

    def forward(self, x):
        stem = self.stem(x)
        deep = self.deep(stem)
        patches = F.pixel_unshuffle(x, 8)
        y = torch.cat((deep, self.patches(patches)), 1)
        y = torch.cat([d(y) for d in self.dilated] + [like(self.pooled(y), y, align_corners=True)], 1)
        y = like(self.merge(y), stem, align_corners=True) + self.lateral(stem)
        return torch.sigmoid(like(self.out(y), x, align_corners=True))


# --- matting ----------------------------------------------------------------------------------------------------------

class ConvGru(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gates = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.candidate = nn.Conv2d(2 * channels, channels, 3, padding=1)

    def forward(self, x, h):
        h = h.expand_as(x)
        r, z = torch.sigmoid(self.gates(torch.cat((x, h), 1))).chunk(2, 1)
        candidate = torch.tanh(self.candidate(torch.cat((x, r * h), 1)))
        return (1 - z) * h + z * candidate


class ResizeByFactor(torch.autograd.Function):
    """Bilinear by a factor that is a tensor: what RVM's exporter does, as torch would make a constant of it."""

    @staticmethod
    def forward(ctx, x, factor):
        return F.interpolate(x, scale_factor=float(factor), mode="bilinear", align_corners=False, recompute_scale_factor=False)

    @staticmethod
    def symbolic(g, x, factor):
        ones = g.op("Constant", value_t=torch.ones(2))
        none = g.op("Constant", value_t=torch.tensor([], dtype=torch.float32))
        return g.op("Resize", x, none, g.op("Concat", ones, factor, factor, axis_i=0),
                    coordinate_transformation_mode_s="pytorch_half_pixel", cubic_coeff_a_f=-0.75, mode_s="linear", nearest_mode_s="floor")


class Rvm(nn.Module):
    """A recurrent matting network: a downsample ratio that is an input, ConvGRU states in and out, a guided filter at full size."""

    def __init__(self, by_factor):
        super().__init__()
        self.by_factor = by_factor
        self.enc = nn.ModuleList([conv(3, 8, stride=2, act=nn.Hardswish), conv(8, 16, stride=2, act=nn.Hardswish)])
        self.aspp, self.gate = conv(16, 16, 1), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 16, 1, bias=False), nn.Sigmoid())
        self.gru, self.gru2 = ConvGru(8), ConvGru(8)
        self.dec, self.dec2 = conv(8 + 8 + 8 + 3, 16), conv(16 + 3, 16)
        self.mat = nn.Conv2d(16, 4, 1)
        self.box = nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False)

    def forward(self, src, r1, r2, ratio):
        if self.by_factor:
            small = ResizeByFactor.apply(src, ratio)
        else:
            size = (torch.tensor(src.shape[2:]) * ratio).to(torch.int64)
            small = F.interpolate(src, size=(size[0], size[1]), mode="bilinear", align_corners=False)
        normal = (small - torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
        f1 = self.enc[0](normal)
        f2 = self.enc[1](f1)
        f2 = self.aspp(f2) * self.gate(f2)
        a, b = f2.split(8, 1)
        r2 = self.gru2(b, r2)
        s1 = F.avg_pool2d(small, 2, 2, count_include_pad=False, ceil_mode=True)
        x = F.interpolate(torch.cat((a, r2), 1), scale_factor=2.0, mode="bilinear", align_corners=False)[:, :, :s1.size(2), :s1.size(3)]
        x = self.dec(torch.cat((x, f1, s1), 1))
        a, b = x.split(8, 1)
        r1 = self.gru(b, r1)
        x = F.interpolate(torch.cat((a, r1), 1), scale_factor=2.0, mode="bilinear", align_corners=False)[:, :, :small.size(2), :small.size(3)]
        x = self.dec2(torch.cat((x, small), 1))
        residual, alpha = self.mat(x).split([3, 1], 1)
        mean = self.box(torch.cat((small, small.mean(1, keepdim=True)), 1))
        residual = F.interpolate(residual + mean[:, :3], src.shape[2:], mode="bilinear", align_corners=False)
        alpha = F.interpolate(alpha + mean[:, 3:], src.shape[2:], mode="bilinear", align_corners=False)
        return (residual + src).clamp(0., 1.), alpha.clamp(0., 1.), r1, r2


class IbNorm(nn.Module):
    """Batch norm on one half of the channels, instance norm on the other."""

    def __init__(self, channels):
        super().__init__()
        self.half = channels // 2
        self.batch, self.instance = nn.BatchNorm2d(self.half), nn.InstanceNorm2d(channels - self.half, affine=False)

    def forward(self, x):
        return torch.cat((self.batch(x[:, :self.half].contiguous()), self.instance(x[:, self.half:].contiguous())), 1)


class Modnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([conv(3, 16, stride=2, act=nn.ReLU6), conv(16, 24, stride=2, act=nn.ReLU6), conv(24, 32, stride=2, act=nn.ReLU6)])
        self.squeeze = nn.Sequential(nn.Linear(32, 8, bias=False), nn.ReLU(), nn.Linear(8, 32, bias=False), nn.Sigmoid())
        self.low = nn.Sequential(nn.Conv2d(32, 16, 5, padding=2), IbNorm(16), nn.ReLU())
        self.high = nn.Sequential(nn.Conv2d(16 + 16 + 3, 16, 3, padding=1), IbNorm(16), nn.ReLU())
        self.fuse = nn.Sequential(nn.Conv2d(16, 8, 3, padding=1), IbNorm(8), nn.ReLU(), nn.Conv2d(8, 1, 1))

    def forward(self, x):
        f1 = self.down[0](x)
        f3 = self.down[2](self.down[1](f1))
        b, c, _, _ = f3.size()
        f3 = f3 * self.squeeze(F.adaptive_avg_pool2d(f3, 1).view(b, c)).view(b, c, 1, 1).expand_as(f3)
        low = self.low(F.interpolate(f3, scale_factor=2, mode="bilinear", align_corners=False))
        low = F.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)
        half = F.interpolate(x, scale_factor=1 / 2, mode="bilinear", align_corners=False)
        high = self.high(torch.cat((low, f1, half), 1))
        return torch.sigmoid(self.fuse(F.interpolate(high, scale_factor=2, mode="bilinear", align_corners=False)))


# --- convolutional segmentation ---------------------------------------------------------------------------------------

class Humanseg(nn.Module):
    """PP-HumanSeg's manner: sizes from Shape, pyramid pooling, an attention that multiplies statistics, a class map beside the logits."""

    def __init__(self, adaptive):
        super().__init__()
        self.pool = F.adaptive_avg_pool2d if adaptive else lambda x, size: F.avg_pool2d(x, size) if size > 1 else x.mean((2, 3), keepdim=True)
        self.down = nn.ModuleList([conv(3, 16, stride=2), conv(16, 24, stride=2), conv(24, 32, stride=2)])
        self.pyramid = nn.ModuleList(conv(32, 8, 1) for _ in (1, 2, 4))
        self.merge = conv(56, 24)
        self.attend, self.out = conv(4, 1, act=None), nn.Conv2d(24, 2, 1)

    def forward(self, x):
        shape = x.shape[2:]
        features = []
        for layer in self.down:
            x = layer(x)
            features.append(x)
        pooled = [like(layer(self.pool(x, size)), x) for size, layer in zip((1, 2, 4), self.pyramid)]
        y = like(self.merge(torch.cat([x, *pooled], 1)), features[1])
        skip = features[1]
        stats = torch.cat([y.mean(1, keepdim=True), y.max(1, keepdim=True)[0], skip.mean(1, keepdim=True), torch.amax(skip, 1, keepdim=True)], 1)
        a = torch.sigmoid(self.attend(stats))
        y = self.out(y * a + skip * (1 - a))
        logits = F.interpolate(y, shape, mode="bilinear", align_corners=False)
        return logits, torch.softmax(logits, 1), torch.argmax(logits, 1)


class Hrnet(nn.Module):
    """Branches of three sizes that are exchanged by strided convolutions and by nearest enlargements."""

    def __init__(self):
        super().__init__()
        self.stem = conv(3, 16, stride=2)
        self.branch = nn.ModuleList([conv(16, 16), conv(16, 32, stride=2), conv(16, 48, stride=4)])
        self.up = nn.ModuleList([conv(32, 16, 1, act=None), conv(48, 16, 1, act=None), conv(48, 32, 1, act=None)])
        self.down = nn.ModuleList([conv(16, 32, stride=2, act=None), conv(16, 48, stride=4, act=None), conv(32, 48, stride=2, act=None)])
        self.out = nn.Conv2d(96, 5, 1)

    def forward(self, x):
        x = self.stem(x)
        a, b, c = (branch(x) for branch in self.branch)
        up = lambda layer, y, k: F.interpolate(layer(y), scale_factor=k, mode="nearest")
        a, b, c = (F.relu(a + up(self.up[0], b, 2) + up(self.up[1], c, 4)), F.relu(self.down[0](a) + b + up(self.up[2], c, 2)),
                   F.relu(self.down[1](a) + self.down[2](b) + c))
        y = torch.cat((a, like(b, a, align_corners=True), like(c, a, align_corners=True)), 1)
        return self.out(y)


class Bag(nn.Module):
    """Layers that appear here and there: group norm, PReLU, pixel shuffle, GELU, weight norm, ELU, LeakyReLU, padding modes, asymmetric kernels."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(3, 16, 3, stride=2), nn.GroupNorm(4, 16), nn.PReLU(16),
            nn.Conv2d(16, 32, (3, 1), padding=(1, 0)), nn.GELU(), nn.Conv2d(32, 32, (1, 3), padding=(0, 1), groups=4), nn.ELU(),
            nn.ReplicationPad2d((1, 0, 1, 0)), nn.AvgPool2d(2, 1),
            nn.Conv2d(32, 32, 3, padding=1, padding_mode="reflect"), nn.LeakyReLU(0.1), nn.PixelShuffle(2), nn.SiLU(), nn.Conv2d(8, 8, 3, padding=2, dilation=2),
            nn.Softplus(), nn.ConstantPad2d((1, -1, 0, 0), 0.25), nn.Mish(), nn.LocalResponseNorm(3), nn.Conv2d(8, 4, 1), nn.Hardsigmoid(), nn.LogSoftmax(1))

    def forward(self, x):
        return self.layers(x)


class Interpolations(nn.Module):
    """Every mode, up and down, by factors and by sizes, with and without aligned corners."""

    def forward(self, x):
        results = []
        for mode in ("nearest", "bilinear", "bicubic"):
            for corners in (None,) if mode == "nearest" else (False, True):
                # With aligned corners and a length that is not whole, ONNX's vectors and ONNX Runtime disagree: docs/numerics.md.
                for factor in (2.0, 0.5, 1.7, (0.75, 1.25)) if not corners else (2.0, 3.0):
                    results.append(F.interpolate(x, scale_factor=factor, mode=mode, align_corners=corners).mean(1))
                results.append(F.interpolate(x, size=(37, 53), mode=mode, align_corners=corners).mean(1))
                results.append(F.interpolate(x, scale_factor=1.3, mode=mode, align_corners=corners, recompute_scale_factor=True).mean(1))
        return tuple(results)


class Antialiased(nn.Module):
    def forward(self, x):
        return tuple(F.interpolate(x, size=size, mode=mode, antialias=True, align_corners=False) for mode in ("bilinear", "bicubic") for size in ((40, 40), (150, 170)))


class Warp(nn.Module):
    """Features of the last picture, warped by a flow."""

    def __init__(self, mode, padding, corners):
        super().__init__()
        self.flow = nn.Conv2d(3, 2, 3, padding=1)
        self.how = dict(mode=mode, padding_mode=padding, align_corners=corners)

    def forward(self, x):
        b, _, h, w = x.shape
        rows, columns = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        grid = torch.stack((columns, rows), -1)[None].expand(b, -1, -1, -1)
        return F.grid_sample(x, grid + 0.3 * torch.tanh(self.flow(x)).permute(0, 2, 3, 1), **self.how)


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        from torchvision.ops import DeformConv2d
        self.offset, self.mask = nn.Conv2d(3, 18, 3, padding=1), nn.Conv2d(3, 9, 3, padding=1)
        self.conv, self.out = DeformConv2d(3, 8, 3, padding=1), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return self.out(F.relu(self.conv(x, self.offset(x), torch.sigmoid(self.mask(x)))))
