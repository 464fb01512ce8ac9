"""The cases in NumPy, with hand-written gradients: nothing to compile."""

import jobs
import numpy as np


def setup(case):
    return jobs.workload(case, Plain())


class Plain:
    wait = None

    def stepper(self, weights, x, y, rate):
        state = [weights]

        def call():
            state[0], loss = perceptron_step(state[0], np.float32(rate), x, y)
            return loss

        return call

    def train(self, configurations, x, y, steps):
        losses = []
        for start, rate in configurations:
            weights = start
            for _ in range(steps):
                weights, loss = perceptron_step(weights, np.float32(rate), x, y)
            losses.append(loss)
        return losses

    def fit(self, data, rate, steps):
        losses = []
        for x, y in data:
            slopes, constant = np.zeros(jobs.FEATURES, np.float32), np.float32(0)
            for _ in range(steps):
                logits = x @ slopes + constant
                loss = np.mean(np.logaddexp(0, logits) - y * logits)
                error = (1 / (1 + np.exp(-logits)) - y) / np.float32(len(y))
                slopes = slopes - np.float32(rate) * (error @ x)
                constant = constant - np.float32(rate) * error.sum()
            losses.append(loss)
        return losses


def perceptron_step(weights, rate, x, y):
    layers = [x]
    for w, b in weights[:-1]:
        layers.append(np.tanh(layers[-1] @ w + b))
    w, b = weights[-1]
    error = (layers[-1] @ w + b)[:, 0] - y
    slope = (2 / np.float32(len(y)) * error)[:, None]
    moved = []
    for (w, b), layer in zip(reversed(weights), reversed(layers)):
        moved.append((w - rate * (layer.T @ slope), b - rate * slope.sum(axis=0)))
        slope = (slope @ w.T) * (1 - layer * layer)
    return moved[::-1], np.mean(error * error)
