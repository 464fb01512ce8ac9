"""Flax NNX: modules that are modified in place, and `nnx.jit`."""

import bert
import jax
import jax.numpy as jnp
import optax
import training
from flax import nnx


class Linear(nnx.Module):
    def __init__(self, pieces, bias):
        self.pieces = nnx.List([nnx.Param(piece) for piece in pieces])
        self.bias = nnx.Param(bias)

    def __call__(self, x):
        return x @ bert.joined(jnp, [piece[...] for piece in self.pieces]) + self.bias[...]


class Norm(nnx.Module):
    def __init__(self, scale, bias):
        self.scale, self.bias = nnx.Param(scale), nnx.Param(bias)

    def __call__(self, x):
        return bert.normalised(jnp, x, self.scale[...], self.bias[...])


class Layer(nnx.Module):
    def __init__(self, of, case, rngs):
        for name in bert.LINEARS:
            setattr(self, name, Linear(**of[name]))
        for name in bert.NORMS:
            setattr(self, name, Norm(**of[name]))
        self.heads, self.attention = case["heads"], case["attention"]
        self.dropout = nnx.Dropout(case["dropout"], rngs=rngs) if rngs else None

    def dropped(self, x):
        return x if self.dropout is None else self.dropout(x)

    def __call__(self, x):
        parts = (self.query(x), self.key(x), self.value(x))
        mixed = self.out(bert.attention(jnp, self.attention, self.heads, *parts))
        x = self.norm_attention(x + self.dropped(mixed))
        hidden = self.down(bert.gelu(jnp, self.up(x)))
        return self.norm_feed_forward(x + self.dropped(hidden))


class Bert(nnx.Module):
    def __init__(self, case, weights):
        rngs = nnx.Rngs(dropout=0) if case["dropout"] else None
        self.tokens, self.positions = nnx.Param(weights["tokens"]), nnx.Param(weights["positions"])
        self.norm = Norm(**weights["norm"])
        self.dropout = nnx.Dropout(case["dropout"], rngs=rngs) if rngs else None
        self.layers = nnx.List([Layer(of, case, rngs) for of in weights["layers"]])
        self.head = Linear(**weights["head"])

    def __call__(self, tokens):
        x = self.norm(self.tokens[...][tokens] + self.positions[...])
        x = x if self.dropout is None else self.dropout(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def setup(case):
    model = Bert(case, jax.device_put(bert.initial(case)))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-4), wrt=nnx.Param)
    tokens, labels = jax.device_put(bert.batch(case))

    def loss(model, tokens, labels):
        return bert.cross_entropy(jnp, model(tokens), labels)

    @nnx.jit
    def train(model, optimizer, tokens, labels):
        value, gradient = nnx.value_and_grad(loss)(model, tokens, labels)
        optimizer.update(model, gradient)
        return value, optax.global_norm(gradient)

    return training.workload(
        case,
        lambda: train(model, optimizer, tokens, labels),
        lambda: train.lower(model, optimizer, tokens, labels).compile().compiled,
    )
