"""Equinox modules: with `eqx.filter_jit`, or with `jax.jit` over a partition made once by hand."""

import bert
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import training


class Linear(eqx.Module):
    pieces: list
    bias: jax.Array

    def __call__(self, x):
        return x @ bert.joined(jnp, self.pieces) + self.bias


class Norm(eqx.Module):
    scale: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return bert.normalised(jnp, x, self.scale, self.bias)


class Layer(eqx.Module):
    query: Linear
    key: Linear
    value: Linear
    out: Linear
    up: Linear
    down: Linear
    norm_attention: Norm
    norm_feed_forward: Norm
    dropout: eqx.nn.Dropout
    heads: int = eqx.field(static=True)
    attention: str = eqx.field(static=True)

    def __call__(self, x, key):
        first, second = (None, None) if key is None else jax.random.split(key)
        parts = (self.query(x), self.key(x), self.value(x))
        mixed = self.out(bert.attention(jnp, self.attention, self.heads, *parts))
        x = self.norm_attention(x + self.dropout(mixed, key=first))
        hidden = self.down(bert.gelu(jnp, self.up(x)))
        return self.norm_feed_forward(x + self.dropout(hidden, key=second))


class Bert(eqx.Module):
    tokens: jax.Array
    positions: jax.Array
    norm: Norm
    layers: list
    head: Linear
    dropout: eqx.nn.Dropout

    def __call__(self, tokens, key):
        keys = [None] * (len(self.layers) + 1)
        if key is not None:
            keys = jax.random.split(key, len(self.layers) + 1)
        x = self.dropout(self.norm(self.tokens[tokens] + self.positions), key=keys[0])
        for layer, one in zip(self.layers, keys[1:]):
            x = layer(x, one)
        return self.head(x)


def build(case):
    weights = jax.device_put(bert.initial(case))
    dropout = eqx.nn.Dropout(case["dropout"], inference=not case["dropout"])

    def layer(of):
        linears = {name: Linear(**of[name]) for name in bert.LINEARS}
        norms = {name: Norm(**of[name]) for name in bert.NORMS}
        return Layer(
            **linears, **norms, dropout=dropout, heads=case["heads"], attention=case["attention"]
        )

    return Bert(
        tokens=weights["tokens"],
        positions=weights["positions"],
        norm=Norm(**weights["norm"]),
        layers=[layer(of) for of in weights["layers"]],
        head=Linear(**weights["head"]),
        dropout=dropout,
    )


def setup(case):
    model = build(case)
    optimizer = optax.adamw(1e-4)
    arrays, static = eqx.partition(model, eqx.is_array)
    state = jax.jit(optimizer.init)(arrays)
    tokens, labels = jax.device_put(bert.batch(case))
    key = jax.random.PRNGKey(0) if case["dropout"] else None
    make = filtered if case["jit"] == "filter" else partitioned
    return make(case, model, static, optimizer, state, (tokens, labels, key))


def loss(model, tokens, labels, key):
    return bert.cross_entropy(jnp, model(tokens, key), labels)


def filtered(case, model, _, optimizer, state, data):
    @eqx.filter_jit
    def train(model, state, tokens, labels, key):
        value, gradient = eqx.filter_value_and_grad(loss)(model, tokens, labels, key)
        updates, state = optimizer.update(gradient, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, value, optax.global_norm(gradient)

    kept = [model, state]

    def step():
        kept[0], kept[1], value, norm = train(*kept, *data)
        return value, norm

    return training.workload(case, step, lambda: train.lower(*kept, *data).compile().compiled)


def partitioned(case, model, static, optimizer, state, data):
    @jax.jit
    def train(arrays, state, tokens, labels, key):
        def of_arrays(arrays):
            return loss(eqx.combine(arrays, static), tokens, labels, key)

        value, gradient = jax.value_and_grad(of_arrays)(arrays)
        updates, state = optimizer.update(gradient, state, arrays)
        return optax.apply_updates(arrays, updates), state, value, optax.global_norm(gradient)

    kept = [eqx.filter(model, eqx.is_array), state]

    def step():
        kept[0], kept[1], value, norm = train(*kept, *data)
        return value, norm

    return training.workload(case, step, lambda: train.lower(*kept, *data).compile())
