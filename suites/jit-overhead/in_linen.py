"""Flax Linen: stateless modules, a tree of parameters, and `jax.jit`."""

import bert
import jax
import jax.numpy as jnp
import optax
import training
from flax import linen as nn


class Linear(nn.Module):
    shapes: tuple
    size: int

    @nn.compact
    def __call__(self, x):
        pieces = [
            self.param(f"piece_{number}", nn.initializers.normal(0.02), shape)
            for number, shape in enumerate(self.shapes)
        ]
        return x @ bert.joined(jnp, pieces) + self.param(
            "bias", nn.initializers.zeros, (self.size,)
        )


class Norm(nn.Module):
    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, x.shape[-1:])
        bias = self.param("bias", nn.initializers.zeros, x.shape[-1:])
        return bert.normalised(jnp, x, scale, bias)


class Layer(nn.Module):
    shapes: tuple
    heads: int
    attention: str
    rate: float

    @nn.compact
    def __call__(self, x):
        linears = {name: Linear(pieces, size, name=name) for name, pieces, size in self.shapes}
        dropout = nn.Dropout(self.rate, deterministic=not self.rate)
        parts = (linears[name](x) for name in ("query", "key", "value"))
        mixed = linears["out"](bert.attention(jnp, self.attention, self.heads, *parts))
        x = Norm(name="norm_attention")(x + dropout(mixed))
        hidden = linears["down"](bert.gelu(jnp, linears["up"](x)))
        return Norm(name="norm_feed_forward")(x + dropout(hidden))


class Bert(nn.Module):
    sizes: tuple
    layers: tuple
    head: tuple
    heads: int
    attention: str
    rate: float

    @nn.compact
    def __call__(self, tokens):
        vocabulary, length, width = self.sizes
        table = self.param("tokens", nn.initializers.normal(0.02), (vocabulary, width))
        places = self.param("positions", nn.initializers.normal(0.02), (length, width))
        x = Norm(name="norm")(table[tokens] + places)
        x = nn.Dropout(self.rate, deterministic=not self.rate)(x)
        for number, shapes in enumerate(self.layers):
            x = Layer(shapes, self.heads, self.attention, self.rate, name=f"layer_{number}")(x)
        return Linear(*self.head, name="head")(x)


def setup(case):
    weights = jax.device_put(bert.initial(case))
    model = Bert(
        sizes=(case["vocabulary"], case["length"], case["width"]),
        layers=tuple(
            tuple((name, *described(of[name])) for name in bert.LINEARS) for of in weights["layers"]
        ),
        head=described(weights["head"]),
        heads=case["heads"],
        attention=case["attention"],
        rate=case["dropout"],
    )
    parameters = named(weights)
    optimizer = optax.adamw(1e-4)
    state = jax.jit(optimizer.init)(parameters)
    tokens, labels = jax.device_put(bert.batch(case))
    key = jax.random.PRNGKey(0) if case["dropout"] else None

    def loss(parameters, tokens, labels, key):
        rngs = None if key is None else {"dropout": key}
        logits = model.apply({"params": parameters}, tokens, rngs=rngs)
        return bert.cross_entropy(jnp, logits, labels)

    @jax.jit
    def train(parameters, state, tokens, labels, key):
        value, gradient = jax.value_and_grad(loss)(parameters, tokens, labels, key)
        updates, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, value, optax.global_norm(gradient)

    kept = [parameters, state]

    def step():
        kept[0], kept[1], value, norm = train(*kept, tokens, labels, key)
        return value, norm

    return training.workload(case, step, lambda: train.lower(*kept, tokens, labels, key).compile())


def described(linear):
    """Return the shapes of a linear layer's pieces, and the size of its output."""
    return tuple(piece.shape for piece in linear["pieces"]), linear["bias"].shape[0]


def named(weights):
    """Return the weights under Linen's names."""

    def linear(of):
        pieces = {f"piece_{number}": piece for number, piece in enumerate(of["pieces"])}
        return {**pieces, "bias": of["bias"]}

    tree = {name: weights[name] for name in ("tokens", "positions", "norm")}
    for number, of in enumerate(weights["layers"]):
        linears = {name: linear(of[name]) for name in bert.LINEARS}
        tree[f"layer_{number}"] = {**linears, **{name: of[name] for name in bert.NORMS}}
    return {**tree, "head": linear(weights["head"])}
