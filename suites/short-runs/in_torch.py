"""The cases in PyTorch: eager, or with the loss and its gradient under `torch.compile`."""

import jobs
import numpy as np
import torch
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def setup(case):
    return jobs.workload(case, Torch(case["compile"]))


def perceptron_loss(weights, x, y):
    for w, b in weights[:-1]:
        x = torch.tanh(x @ w + b)
    w, b = weights[-1]
    return ((x @ w + b)[:, 0] - y).square().mean()


def logistic_loss(weights, x, y):
    return functional.binary_cross_entropy_with_logits(x @ weights[0] + weights[1], y)


def transformer_loss(weights, tokens, variant):
    inputs, labels = tokens[:, :-1], tokens[:, 1:]
    x = weights["embedding"][inputs]
    if variant != "no-positions":
        x = x + weights["positions"]

    def norm(x):
        if variant == "no-norm":
            return x
        return x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)

    if variant != "no-attention":
        x = x + attention(weights, norm(x))
    if variant != "no-feed-forward":
        x = x + torch.tanh(norm(x) @ weights["up"]) @ weights["down"]
    logits = x @ weights["embedding"].T
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def attention(weights, x):
    batch, length, width = x.shape
    shape = (batch, length, jobs.HEADS, width // jobs.HEADS)
    parts = (part.reshape(shape).transpose(1, 2) for part in (x @ weights["qkv"]).chunk(3, dim=-1))
    mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
    return mixed.transpose(1, 2).reshape(batch, length, width) @ weights["out"]


def moved(tree):
    """Return a tree of tensors on the device, ready to be trained."""
    if isinstance(tree, dict):
        return {name: moved(value) for name, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [moved(value) for value in tree]
    return torch.tensor(tree, device=DEVICE, requires_grad=True)


def leaves(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        return [leaf for value in tree for leaf in leaves(value)]
    return [tree]


class Torch:
    def __init__(self, compile_):
        wrap = torch.compile if compile_ else lambda function: function
        self.perceptron, self.logistic = wrap(perceptron_loss), wrap(logistic_loss)
        self.transformer = wrap(transformer_loss)

    @staticmethod
    def wait(_):
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    def stepper(self, weights, x, y, rate):
        weights = moved(weights)
        optimizer = torch.optim.SGD(leaves(weights), lr=rate)
        x, y = torch.tensor(x, device=DEVICE), torch.tensor(y, device=DEVICE)
        return lambda: step(optimizer, lambda: self.perceptron(weights, x, y))

    def train(self, configurations, x, y, steps):
        x, y = torch.tensor(x, device=DEVICE), torch.tensor(y, device=DEVICE)
        return [
            descend(moved(weights), rate, steps, self.perceptron, x, y)
            for weights, rate in configurations
        ]

    def fit(self, data, rate, steps):
        losses = []
        for rows in data:
            weights = moved([np.zeros(jobs.FEATURES, np.float32), np.float32(0)])
            x, y = (torch.tensor(part, device=DEVICE) for part in rows)
            losses.append(descend(weights, rate, steps, self.logistic, x, y))
        return losses

    def ablate(self, variants, start, tokens, rate, steps):
        tokens = torch.tensor(tokens, device=DEVICE).long()
        return [
            descend(moved(start), rate, steps, self.transformer, tokens, variant)
            for variant in variants
        ]


def descend(weights, rate, steps, loss, *data):
    optimizer = torch.optim.SGD(leaves(weights), lr=rate)
    for _ in range(steps):
        value = step(optimizer, lambda: loss(weights, *data))
    return value


def step(optimizer, loss):
    optimizer.zero_grad()
    value = loss()
    value.backward()
    optimizer.step()
    return value.detach()
