"""Networks with attention, and those with control flow or recurrence, for zoo.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class MixFfn(nn.Module):
    """Tokens → picture → depthwise convolution → tokens: SegFormer's position code."""

    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.depthwise = nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=2 * width)

    def forward(self, x, h, w):
        x = self.a(x)
        b, n, c = x.shape
        x = self.depthwise(x.transpose(1, 2).view(b, c, h, w)).flatten(2).transpose(1, 2)
        return self.b(F.gelu(x))


class ReducedAttention(nn.Module):
    """Attention whose keys and values come from a smaller picture; products by MatMul or by Einsum."""

    def __init__(self, width, heads, reduction, einsum):
        super().__init__()
        self.heads, self.einsum, self.reduction = heads, einsum, reduction
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        if reduction > 1:
            self.reduce, self.norm = nn.Conv2d(width, width, reduction, reduction), nn.LayerNorm(width)

    def forward(self, x, h, w):
        b, n, c = x.shape
        q = self.q(x).reshape(b, n, self.heads, c // self.heads).permute(0, 2, 1, 3)
        if self.reduction > 1:
            x = self.norm(self.reduce(x.permute(0, 2, 1).reshape(b, c, h, w)).reshape(b, c, -1).permute(0, 2, 1))
        k, v = self.kv(x).reshape(b, -1, 2, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        if self.einsum:
            attention = torch.softmax(torch.einsum("bhid,bhjd->bhij", q, k) * (c // self.heads) ** -0.5, -1)
            y = torch.einsum("bhij,bhjd->bhid", attention, v)
        else:
            attention = ((q @ k.transpose(-2, -1)) * (c // self.heads) ** -0.5).softmax(-1)
            y = attention @ v
        return self.out(y.transpose(1, 2).reshape(b, n, c))


class Segformer(nn.Module):
    def __init__(self, einsum, classes=5):
        super().__init__()
        widths = (16, 32, 48)
        self.embed = nn.ModuleList(nn.Conv2d(a, b, 7 if k == 0 else 3, 4 if k == 0 else 2, 3 if k == 0 else 1)
                                   for k, (a, b) in enumerate(zip((3, *widths), widths)))
        self.norms = nn.ModuleList(nn.ModuleList(nn.LayerNorm(w, eps=1e-6) for _ in range(4)) for w in widths)
        self.attention = nn.ModuleList(ReducedAttention(w, k + 1, (4, 2, 1)[k], einsum and k == 1) for k, w in enumerate(widths))
        self.ffn = nn.ModuleList(MixFfn(w) for w in widths)
        self.project = nn.ModuleList(nn.Linear(w, 24) for w in widths)
        self.fuse = nn.Sequential(nn.Conv2d(72, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU())
        self.out = nn.Conv2d(24, classes, 1)

    def forward(self, picture):
        x, features = picture, []
        for embed, norms, attention, ffn in zip(self.embed, self.norms, self.attention, self.ffn):
            x = embed(x)
            b, c, h, w = x.shape
            x = norms[0](x.flatten(2).transpose(1, 2))
            x = x + attention(norms[1](x), h, w)
            x = norms[3](x + ffn(norms[2](x), h, w))
            x = x.reshape(b, h, w, -1).permute(0, 3, 1, 2).contiguous()
            features.append(x)
        size = features[0].shape[2:]
        maps = []
        for f, project in zip(features, self.project):
            y = project(f.flatten(2).transpose(1, 2)).permute(0, 2, 1).reshape(f.shape[0], -1, f.shape[2], f.shape[3])
            maps.append(F.interpolate(y, size=size, mode="bilinear", align_corners=False))
        y = self.out(self.fuse(torch.cat(maps[::-1], 1)))
        return F.interpolate(y, size=picture.shape[2:], mode="bilinear", align_corners=False)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width))
        self.scale = nn.Parameter(torch.full((width,), 0.3))

    def attend(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
            y = (scores if mask is None else scores + mask).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, n, c))

    def forward(self, x):
        x = x + self.scale * self.attend(self.norm1(x))
        return x + self.scale * self.mlp(self.norm2(x))


class Dpt(nn.Module):
    """A ViT with a class token and positions that are interpolated to the picture; tokens of two depths are made pictures and fused: depth."""

    def __init__(self, width=32, patch=8):
        super().__init__()
        self.patch = patch
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.token, self.position = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(0.5 * torch.randn(1, 1 + 14 * 14, width))
        self.blocks = nn.ModuleList(Block(width, 2) for _ in range(2))
        self.readout = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(2))
        self.up = nn.ConvTranspose2d(width, width, 2, 2)
        self.fuse = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Sequential(nn.Conv2d(width, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1), nn.ReLU())

    def forward(self, x):
        height, width = x.shape[2:]
        h, w = height // self.patch, width // self.patch
        tokens = self.embed(x).flatten(2).transpose(1, 2)
        place = self.position[:, 1:].reshape(1, 14, 14, -1).permute(0, 3, 1, 2)
        place = F.interpolate(place, size=(h, w), mode="bicubic", align_corners=False).permute(0, 2, 3, 1).reshape(1, -1, tokens.shape[2])
        tokens = torch.cat((self.token.expand(x.shape[0], -1, -1), tokens), 1) + torch.cat((self.position[:, :1], place), 1)
        maps = []
        for block, readout in zip(self.blocks, self.readout):
            tokens = block(tokens)
            first = tokens[:, :1].expand(-1, tokens.shape[1] - 1, -1)
            y = F.gelu(readout(torch.cat((tokens[:, 1:], first), -1)))
            maps.append(y.permute(0, 2, 1).reshape(y.shape[0], y.shape[2], h, w))
        y = self.up(maps[0])
        y = F.relu(self.fuse(y + F.interpolate(maps[1], size=y.shape[2:], mode="bilinear", align_corners=True)))
        y = F.interpolate(y, (height, width), mode="bilinear", align_corners=True)
        return self.head(y).squeeze(1)


class Swin(nn.Module):
    """Attention in windows that are shifted by rolling; the picture is padded to whole windows; a mask keeps what was rolled apart."""

    def __init__(self, width=24, window=4):
        super().__init__()
        self.window, self.shift = window, window // 2
        self.embed, self.block = nn.Conv2d(3, width, 4, 4), Block(width, 2)
        self.shifted = Block(width, 2)
        self.merge, self.norm = nn.Linear(4 * width, 2 * width, bias=False), nn.LayerNorm(4 * width)
        self.out = nn.Conv2d(2 * width, 4, 1)

    def windows(self, x):
        b, h, w, c = x.shape
        k = self.window
        return x.view(b, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, k * k, c)

    def picture(self, x, h, w):
        k = self.window
        return x.view(-1, h // k, w // k, k, k, x.shape[-1]).permute(0, 1, 3, 2, 4, 5).reshape(-1, h, w, x.shape[-1])

    def mask(self, h, w):
        zone = torch.zeros(1, h, w, 1)
        k, s = self.window, self.shift
        count = 0
        for rows in (slice(0, -k), slice(-k, -s), slice(-s, None)):
            for columns in (slice(0, -k), slice(-k, -s), slice(-s, None)):
                zone[:, rows, columns] = count
                count += 1
        zone = self.windows(zone).squeeze(-1)
        difference = zone[:, None, :] - zone[:, :, None]
        return difference.masked_fill(difference != 0, -100.0).masked_fill(difference == 0, 0.0)[:, None]

    def forward(self, x):
        y = self.embed(x).permute(0, 2, 3, 1)
        _, h, w, _ = y.shape
        k = self.window
        y = F.pad(y, (0, 0, 0, (k - w % k) % k, 0, (k - h % k) % k))
        _, hp, wp, c = y.shape
        y = self.picture(self.block(self.windows(y)), hp, wp)
        shifted = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        tokens = self.windows(shifted)
        tokens = tokens + self.shifted.attend(self.shifted.norm1(tokens), self.mask(hp, wp))
        y = torch.roll(self.picture(tokens, hp, wp), (self.shift, self.shift), (1, 2))[:, :h, :w]
        y = torch.cat((y[:, 0::2, 0::2], y[:, 1::2, 0::2], y[:, 0::2, 1::2], y[:, 1::2, 1::2]), -1)
        y = self.merge(self.norm(y)).permute(0, 3, 1, 2)
        return F.interpolate(self.out(y), size=x.shape[2:], mode="bilinear", align_corners=False)


class Maskformer(nn.Module):
    """Queries that attend to a picture (nn.MultiheadAttention) and masks from their product with it (einsum); sine positions."""

    def __init__(self, width=32, queries=6, classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 4, 4), nn.GroupNorm(8, width), nn.ReLU())
        self.queries = nn.Embedding(queries, width)
        self.cross, self.self = nn.MultiheadAttention(width, 4), nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.classes, self.masks = nn.Linear(width, classes + 1), nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    @staticmethod
    def positions(x, half):
        ones = torch.ones_like(x[:, 0])
        rows, columns = ones.cumsum(1), ones.cumsum(2)
        rows, columns = rows / (rows[:, -1:, :] + 1e-6) * 2 * math.pi, columns / (columns[:, :, -1:] + 1e-6) * 2 * math.pi
        frequency = torch.arange(half, dtype=torch.float32)
        frequency = 10000 ** (2 * torch.div(frequency, 2, rounding_mode="floor") / half)
        code = []
        for axis in (rows, columns):
            angle = axis[..., None] / frequency
            code.append(torch.stack((angle[..., 0::2].sin(), angle[..., 1::2].cos()), 4).flatten(3))
        return torch.cat(code, 3).permute(0, 3, 1, 2)

    def forward(self, x):
        y = self.stem(x)
        memory = y.flatten(2).permute(2, 0, 1)
        keys = memory + self.positions(y, y.shape[1] // 2).flatten(2).permute(2, 0, 1)
        q = self.queries.weight.unsqueeze(1).repeat(1, x.shape[0], 1)
        q = self.norm(q + self.cross(q, keys, memory)[0]).transpose(0, 1)
        q = self.norm(q + self.self(q, q, q)[0])
        masks = torch.einsum("bqc,bchw->bqhw", self.masks(q), y)
        masks = F.interpolate(masks, size=x.shape[-2:], mode="bilinear", align_corners=False)
        scores = self.classes(q).softmax(-1)[..., :-1]
        return torch.einsum("bqc,bqhw->bchw", scores, masks.sigmoid())


class Mobilevit(nn.Module):
    """Patches unfolded by reshaping, linear attention among them, a convolution before and behind; ConvNeXt's norm over channels."""

    def __init__(self, width=24):
        super().__init__()
        self.stem, self.block = nn.Conv2d(3, width, 4, 4), Block(width, 3)
        self.norm, self.deep = nn.LayerNorm(width), nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.a, self.b = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, 4, 1)

    def forward(self, x):
        x = self.stem(x)
        b, c, h, w = x.shape
        y = x.reshape(b * c * (h // 2), 2, w // 2, 2).transpose(1, 2).reshape(b, c, (h // 2) * (w // 2), 4)
        y = self.block(y.permute(0, 3, 2, 1).reshape(b * 4, -1, c)).reshape(b, 4, -1, c).permute(0, 3, 2, 1)
        x = x + y.reshape(b * c * (h // 2), w // 2, 2, 2).transpose(1, 2).reshape(b, c, h, w)
        x = x + self.b(F.gelu(self.a(self.norm(self.deep(x).permute(0, 2, 3, 1))))).permute(0, 3, 1, 2)
        q, k, v = self.qkv(x).reshape(b, 3, c, h * w).unbind(1)
        q, k = F.relu(q), F.relu(k)
        kv = torch.matmul(F.pad(v, (0, 0, 0, 1), value=1.0), k.transpose(-1, -2))
        y = torch.matmul(kv, q)
        y = y[:, :-1] / (y[:, -1:] + 1e-3)
        return self.out(x + y.reshape(b, c, h, w))


class Promptable(nn.Module):
    """A mask decoder in SAM's manner: points as Fourier features, labels by Where, tokens and picture attend to each other, hypernetworks."""

    def __init__(self, width=32):
        super().__init__()
        self.register_buffer("gauss", torch.randn(2, width // 2))
        self.labels, self.tokens = nn.Embedding(3, width), nn.Embedding(3, width)
        self.embed, self.attend = nn.Conv2d(3, width, 8, 8), nn.MultiheadAttention(width, 2, batch_first=True)
        self.up = nn.Sequential(nn.ConvTranspose2d(width, 16, 2, 2), nn.GroupNorm(1, 16), nn.GELU(), nn.ConvTranspose2d(16, 8, 2, 2), nn.GELU())
        self.hyper = nn.ModuleList(nn.Linear(width, 8) for _ in range(2))
        self.score = nn.Linear(width, 2)

    def forward(self, x, points, kinds):
        y = self.embed(x)
        size = torch.tensor([x.shape[3], x.shape[2]], dtype=torch.float32)
        code = (2 * ((points + 0.5) / size) - 1) @ self.gauss * (2 * math.pi)
        code = torch.cat((code.sin(), code.cos()), -1)
        code = torch.where((kinds == -1).unsqueeze(-1), torch.zeros_like(code), code)
        for label in range(3):
            code = code + self.labels.weight[label] * (kinds == label).unsqueeze(-1)
        tokens = torch.cat((self.tokens.weight.unsqueeze(0).expand(x.shape[0], -1, -1), code), 1)
        b, c, h, w = y.shape
        flat = y.flatten(2).permute(0, 2, 1)
        tokens = tokens + self.attend(tokens, flat, flat)[0]
        flat = flat + self.attend(flat, tokens, tokens)[0]
        up = self.up(flat.transpose(1, 2).view(b, c, h, w))
        hyper = torch.stack([layer(tokens[:, k + 1]) for k, layer in enumerate(self.hyper)], 1)
        b, c, h, w = up.shape
        masks = (hyper @ up.view(b, c, h * w)).view(b, -1, h, w)
        scores = torch.sigmoid(self.score(tokens[:, 0]))
        masks = F.interpolate(masks, scale_factor=2.0, mode="bilinear", align_corners=False)
        best = torch.argmax(scores, -1)
        return masks, scores, masks[torch.arange(b), best].unsqueeze(1)


class Crnn(nn.Module):
    """Text in a line of pixels: convolutions, then a bidirectional LSTM and a GRU along the width."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(),
                                  nn.MaxPool2d((2, 2), (2, 1), (0, 1)))
        self.lstm, self.gru = nn.LSTM(24, 16, bidirectional=True), nn.GRU(32, 12, batch_first=True)
        self.out = nn.Linear(12, 10)

    def forward(self, x):
        y = self.conv(x).mean(2).permute(2, 0, 1)
        y = self.lstm(y)[0].transpose(0, 1)
        return self.out(self.gru(y)[0]).log_softmax(-1)


class Volume(nn.Module):
    """A U-Net on volumes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Sequential(nn.Conv3d(1, 8, 3, padding=1), nn.InstanceNorm3d(8, affine=True), nn.LeakyReLU()), nn.Conv3d(8, 16, 3, 2, 1)
        self.up, self.out = nn.ConvTranspose3d(16, 8, 2, 2), nn.Conv3d(16, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = F.relu(self.b(a))
        return self.out(torch.cat((a, self.up(b)), 1)), F.interpolate(b, scale_factor=2.0, mode="trilinear", align_corners=False)
