"""The jobs in JAX: one jitted step called in a loop, as most people write it, and what can be done
about its compilations: shapes padded to buckets, everything under one `vmap`, programs exported
ahead of time. With `JAX_DISABLE_JIT` the same code runs operation by operation.
"""

import functools
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import jobs
import numpy as np


def setup(case):
    arms = {"jit": Jitted, "buckets": Bucketed, "vmap": Mapped, "exported": Exported}
    return jobs.workload(case, arms[case["style"]]())


def perceptron_loss(weights, x, y):
    for w, b in weights[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = weights[-1]
    return jnp.mean(((x @ w + b)[:, 0] - y) ** 2)


def logistic_loss(weights, x, y, used):
    """Return the mean over the used rows; padded ones are excluded."""
    logits = x @ weights[0] + weights[1]
    return jnp.sum(used * (jnp.logaddexp(0, logits) - y * logits)) / jnp.sum(used)


def transformer_loss(weights, tokens, variant):
    inputs, labels = tokens[:, :-1], tokens[:, 1:]
    x = weights["embedding"][inputs]
    if variant != "no-positions":
        x = x + weights["positions"]

    def norm(x):
        if variant == "no-norm":
            return x
        return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)

    if variant != "no-attention":
        x = x + attention(weights, norm(x))
    if variant != "no-feed-forward":
        x = x + jnp.tanh(norm(x) @ weights["up"]) @ weights["down"]
    logits = x @ weights["embedding"].T
    found = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - found)


def attention(weights, x):
    batch, length, width = x.shape
    shape = (batch, length, jobs.HEADS, width // jobs.HEADS)
    query, key, value = (part.reshape(shape) for part in jnp.split(x @ weights["qkv"], 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(shape[-1])
    scores = jnp.where(np.tril(np.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
    return mixed.reshape(batch, length, width) @ weights["out"]


def descend(loss, weights, rate, *data):
    value, gradient = jax.value_and_grad(loss)(weights, *data)
    return jax.tree.map(lambda w, g: w - rate * g, weights, gradient), value


@jax.jit
def perceptron_step(weights, rate, x, y):
    return descend(perceptron_loss, weights, rate, x, y)


@jax.jit
def logistic_step(weights, rate, x, y, used):
    return descend(logistic_loss, weights, rate, x, y, used)


@functools.partial(jax.jit, static_argnames="variant")
def transformer_step(weights, rate, tokens, variant):
    return descend(functools.partial(transformer_loss, variant=variant), weights, rate, tokens)


class Jitted:
    """Compiles for every shape."""

    wait = staticmethod(jax.block_until_ready)

    def stepper(self, weights, x, y, rate):
        state = [jax.device_put(weights)]
        rate, x, y = jax.device_put((np.float32(rate), x, y))
        step = self.program("perceptron", perceptron_step, state[0], rate, x, y)

        def call():
            state[0], loss = step(state[0], rate, x, y)
            return loss

        return call

    def train(self, configurations, x, y, steps):
        x, y = jax.device_put((x, y))
        losses = []
        for start, chosen in configurations:
            weights, rate = jax.device_put((self.widened(start), np.float32(chosen)))
            step = self.program("perceptron", perceptron_step, weights, rate, x, y)
            for _ in range(steps):
                weights, loss = step(weights, rate, x, y)
            losses.append(loss)
        return losses

    def fit(self, data, rate, steps):
        rate = jax.device_put(np.float32(rate))
        losses = []
        for x, y in data:
            rows = jax.device_put(self.lengthened(x, y))
            weights = jax.device_put((np.zeros(jobs.FEATURES, np.float32), np.float32(0)))
            step = self.program("logistic", logistic_step, weights, rate, *rows)
            for _ in range(steps):
                weights, loss = step(weights, rate, *rows)
            losses.append(loss)
        return losses

    def ablate(self, variants, start, tokens, rate, steps):
        tokens, rate = jax.device_put((tokens, np.float32(rate)))
        losses = []
        for variant in variants:
            weights = jax.device_put(start)
            step = functools.partial(transformer_step, variant=variant)
            step = self.program(variant, step, weights, rate, tokens)
            for _ in range(steps):
                weights, loss = step(weights, rate, tokens)
            losses.append(loss)
        return losses

    def program(self, name, step, *arguments):
        """Return the program for these arguments."""
        return step

    def widened(self, weights):
        return weights

    def lengthened(self, x, y):
        return x, y, np.ones(len(y), np.float32)


class Bucketed(Jitted):
    """Shapes are padded to powers of two, so that few programs serve many shapes."""

    def widened(self, weights):
        # A hidden unit with zero weights stays zero, because its gradient is zero.
        return widened(weights, bucket(weights[0][0].shape[1]))

    def lengthened(self, x, y):
        return lengthened(x, y, bucket(len(y)))


def bucket(size):
    return 1 << (size - 1).bit_length()


def widened(weights, width):
    (w1, b1), (w2, b2), (w3, b3) = weights
    more = width - w1.shape[1]
    return [
        (np.pad(w1, ((0, 0), (0, more))), np.pad(b1, (0, more))),
        (np.pad(w2, ((0, more), (0, more))), np.pad(b2, (0, more))),
        (np.pad(w3, ((0, more), (0, 0))), b3),
    ]


def lengthened(x, y, rows):
    more = rows - len(y)
    used = np.pad(np.ones(len(y), np.float32), (0, more))
    return np.pad(x, ((0, more), (0, 0))), np.pad(y, (0, more)), used


@jax.jit
def perceptron_steps(weights, rates, x, y):
    return jax.vmap(perceptron_step, in_axes=(0, 0, None, None))(weights, rates, x, y)


@jax.jit
def logistic_steps(weights, rate, x, y, used):
    return jax.vmap(logistic_step, in_axes=(0, None, 0, 0, 0))(weights, rate, x, y, used)


class Mapped(Jitted):
    """All configurations or fits at once, padded to the largest."""

    def train(self, configurations, x, y, steps):
        width = max(weights[0][0].shape[1] for weights, _ in configurations)
        padded = [widened(weights, width) for weights, _ in configurations]
        weights = jax.device_put(jax.tree.map(lambda *parts: np.stack(parts), *padded))
        rates = jax.device_put(np.array([rate for _, rate in configurations], np.float32))
        x, y = jax.device_put((x, y))
        for _ in range(steps):
            weights, losses = perceptron_steps(weights, rates, x, y)
        return jax.device_get(losses)

    def fit(self, data, rate, steps):
        rows = max(len(y) for _, y in data)
        padded = zip(*(lengthened(x, y, rows) for x, y in data))
        together = jax.device_put([np.stack(part) for part in padded])
        count = len(data)
        zeros = (np.zeros((count, jobs.FEATURES), np.float32), np.zeros(count, np.float32))
        weights, rate = jax.device_put((zeros, np.float32(rate)))
        for _ in range(steps):
            weights, losses = logistic_steps(weights, rate, *together)
        return jax.device_get(losses)


class Exported(Jitted):
    """Loads programs from files of an earlier process, already traced and lowered."""

    def __init__(self):
        self.folder = Path(os.environ["FIRSTLIGHT_ARTEFACTS"])
        self.loaded = {}

    def program(self, name, step, *arguments):
        shapes = [np.shape(leaf) for leaf in jax.tree.leaves(arguments)]
        key = "-".join([name, *("x".join(map(str, shape)) for shape in shapes if shape)])
        if key not in self.loaded:
            from jax import export

            path = self.folder / f"{key}.stablehlo"
            if not path.exists():  # ahead of time: in the unmeasured process
                path.write_bytes(export.export(jax.jit(step))(*arguments).serialize())
            self.loaded[key] = jax.jit(export.deserialize(path.read_bytes()).call)
        return self.loaded[key]
