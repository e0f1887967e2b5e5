# SPDX-License-Identifier: Apache-2.0
"""Twins of the models of `regrow train` (regrow/cli/models) for PyTorch: same names of parameters, same arithmetic, no dropout."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mlp(nn.Module):
    def __init__(self, e):
        super().__init__()
        self.first = nn.Linear(14 * 14, e["width"])
        self.blocks = nn.ModuleList(nn.Linear(e["width"], e["width"]) for _ in range(e["depth"]))
        self.last = nn.Linear(e["width"], 10)

    def logits(self, images):
        x = F.relu(self.first(images.reshape(-1, 14 * 14)))
        for block in self.blocks:
            x = x + F.relu(block(x))
        return self.last(x)

    def forward(self, images, labels):
        return F.cross_entropy(self.logits(images), labels)


class Normed(nn.Module):
    """Convolution without bias, batch norm."""

    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.conv(x))


class Cnn(nn.Module):
    def __init__(self, e):
        super().__init__()
        w = e["width"]
        self.fine = nn.ModuleList([Normed(1, w, 3, 2)] + [Normed(w, w, 3, 1) for _ in range(e["depth"])])
        self.coarse = nn.ModuleList(Normed(w if i == 0 else 2 * w, 2 * w, 3, 1) for i in range(e["depth"]))
        self.output = nn.Linear(7 * 7 * 2 * w, 10)

    def forward(self, x, labels):
        for block in self.fine:
            x = F.relu(block(x))
        x = F.max_pool2d(x, 2)
        for block in self.coarse:
            x = F.relu(block(x))
        return F.cross_entropy(self.output(x.flatten(1)), labels)


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = Normed(inputs, outputs, 3, stride)
        self.second = Normed(outputs, outputs, 3, 1)
        self.past = Normed(inputs, outputs, 1, stride) if inputs != outputs or stride != 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.past(x))


class ResNet(nn.Module):
    def __init__(self, e):
        super().__init__()
        w = e["width"]
        self.first = Normed(1, w, 3, 1)
        blocks, inputs = [], w
        for stage in range(3):
            for _ in range((e["depth"] - 2) // 6):
                outputs = w << stage
                blocks.append(ResidualBlock(inputs, outputs, 1 if inputs == outputs else 2))
                inputs = outputs
        self.blocks = nn.ModuleList(blocks)
        self.output = nn.Linear(4 * w, 10)

    def forward(self, x, labels):
        x = F.relu(self.first(x))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.output(x.mean((2, 3))), labels)


class UnetConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(4 if outputs % 4 == 0 else 1, outputs)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class UnetStage(nn.Module):
    def __init__(self, inputs, outputs, depth):
        super().__init__()
        self.convs = nn.ModuleList(UnetConv(inputs if i == 0 else outputs, outputs) for i in range(depth))

    def forward(self, x):
        for conv in self.convs:
            x = conv(x)
        return x


class Unet(nn.Module):
    def __init__(self, e):
        super().__init__()
        w, d = e["width"], e["depth"]
        self.down1, self.down2 = UnetStage(1, w, d), UnetStage(w, 2 * w, d)
        self.bottom = UnetStage(2 * w, 2 * w, d)
        self.up2, self.up1 = UnetStage(4 * w, w, d), UnetStage(2 * w, w, d)
        self.output = nn.Conv2d(w, 1, 1)

    def forward(self, noisy, noise):
        fine = self.down1(noisy)
        middle = self.down2(F.max_pool2d(fine, 2))
        x = self.bottom(F.max_pool2d(middle, 2))
        x = self.up2(torch.cat([middle, F.interpolate(x, scale_factor=2)], 1))
        x = self.up1(torch.cat([fine, F.interpolate(x, scale_factor=2)], 1))
        return F.mse_loss(self.output(x), noise)


class Lstm(nn.Module):
    def __init__(self, e):
        super().__init__()
        self.embedding = nn.Embedding(e["vocabulary"], e["width"])
        self.layers = nn.LSTM(e["width"], e["width"], e["depth"])
        self.output = nn.Linear(e["width"], e["vocabulary"])

    def forward(self, text, following):
        logits = self.output(self.layers(self.embedding(text.t()))[0])
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), following.reshape(text.shape).t().reshape(-1))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * width))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, mask):
        n, length, width = x.shape
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = qkv.view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2)) * (1 / math.sqrt(width // self.heads))
        weights = F.softmax(weights.masked_fill(mask, float("-inf")), -1)
        return self.out_proj((weights @ v).transpose(1, 2).reshape(n, length, width))


class GptBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, max(width // 32, 1))
        self.network_norm = nn.LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        x = x + self.attention(self.attention_norm(x), mask)
        return x + self.narrow(F.gelu(self.widen(self.network_norm(x))))


class Gpt(nn.Module):
    def __init__(self, e):
        super().__init__()
        w = e["width"]
        self.characters, self.positions = nn.Embedding(e["vocabulary"], w), nn.Embedding(e["length"], w)
        self.blocks = nn.ModuleList(GptBlock(w) for _ in range(e["depth"]))
        self.norm = nn.LayerNorm(w)
        self.head = nn.Linear(w, e["vocabulary"], bias=False)
        self.mask = torch.ones(e["length"], e["length"], dtype=torch.bool).triu(1)

    def forward(self, text, following):
        length = text.shape[1]
        x = self.characters(text) + self.positions(torch.arange(length))
        for block in self.blocks:
            x = block(x, self.mask[:length, :length])
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), following)


class TreeLstm(nn.Module):
    def __init__(self, e):
        super().__init__()
        w = e["width"]
        self.tokens = nn.Embedding(14, w)
        self.inputs = nn.Linear(w, 4 * w)
        self.operands = nn.Linear(w, 3 * w, bias=False)
        self.forget = nn.Linear(w, w, bias=False)
        self.output = nn.Linear(w, 10)

    def node(self, token, under):
        i, o, u, f = self.inputs(self.tokens(token)).chunk(4, 1)
        kept = 0
        if under:
            more = self.operands(sum(hidden for hidden, _ in under)).chunk(3, 1)
            i, o, u = i + more[0], o + more[1], u + more[2]
            kept = sum(torch.sigmoid(f + self.forget(hidden)) * cell for hidden, cell in under)
        cell = torch.sigmoid(i) * torch.tanh(u) + kept
        return torch.sigmoid(o) * torch.tanh(cell), cell

    def forward(self, shape, tokens, labels):
        open_nodes = []
        for i, children in enumerate(shape.tolist()):
            first = len(open_nodes) - children
            open_nodes[first:] = [self.node(tokens[i], open_nodes[first:])]
        return F.cross_entropy(self.output(open_nodes[0][0]), labels)


class Unrolled(nn.Module):
    def __init__(self, e):
        super().__init__()
        w, d = e["width"], e["depth"]
        self.layers = nn.ModuleList(nn.Linear(1 if i == 0 else w, 1 if i == d else w) for i in range(d + 1))

    def error(self, weights, x, y):
        for i in range(0, len(weights), 2):
            x = F.linear(x, weights[i], weights[i + 1])
            if i + 2 < len(weights):
                x = torch.tanh(x)
        return F.mse_loss(x, y)

    def forward(self, x, y, later_x, later_y):
        weights = [w for layer in self.layers for w in (layer.weight, layer.bias)]
        for _ in range(10):
            slopes = torch.autograd.grad(self.error(weights, x, y), weights, create_graph=True)
            weights = [w - 0.02 * slope for w, slope in zip(weights, slopes)]
        return self.error(weights, later_x, later_y)


MODELS = {"mlp": Mlp, "cnn": Cnn, "resnet": ResNet, "unet": Unet, "lstm": Lstm, "gpt": Gpt, "treelstm": TreeLstm,
          "unrolled": Unrolled}
CONVOLUTIONAL = ("cnn", "resnet", "unet")


def optimizer_of(model, parameters, learning_rate):
    if model == "resnet":
        return torch.optim.SGD(parameters, learning_rate, momentum=0.9, weight_decay=5e-4, nesterov=True)
    return torch.optim.AdamW(parameters, learning_rate, weight_decay=0.01)
