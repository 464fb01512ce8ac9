"""The same training step of the MLP in NumPy, with a hand-written gradient: nothing to compile."""

import model
import numpy as np

import firstlight

RATE, DECAY, DECAY_SQUARED, SMALL = 1e-3, 0.9, 0.999, 1e-8


def setup(case):
    weights, inputs, labels = model.make(case)
    mean, square = (
        [{name: moment(value) for name, value in layer.items()} for layer in weights]
        for moment in (model.mean, model.square)
    )

    def step(weights, mean, square, count):
        value, gradient = loss_and_gradient(weights, inputs, labels)
        count = count + 1
        moved = [adam(*layers, count) for layers in zip(weights, mean, square, gradient)]
        weights, mean, square = (list(part) for part in zip(*moved))
        return weights, mean, square, count, value

    return firstlight.Workload(
        step,
        (weights, mean, square, model.STEPS_DONE),
        check=model.check_against(case.name, weights, inputs, labels),
    )


def loss_and_gradient(weights, inputs, labels):
    activations = [inputs]
    for layer in weights[:-1]:
        activations.append(np.maximum(activations[-1] @ layer["w"] + layer["b"], 0))
    logits = activations[-1] @ weights[-1]["w"] + weights[-1]["b"]
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    rows = np.arange(len(labels))
    value = -np.log(probabilities[rows, labels]).mean()

    error = probabilities
    error[rows, labels] -= 1
    error /= len(labels)
    gradient = []
    for layer, activation in zip(reversed(weights), reversed(activations)):
        gradient.append({"w": activation.T @ error, "b": error.sum(axis=0)})
        error = (error @ layer["w"].T) * (activation > 0)
    return value, gradient[::-1]


def adam(weights, mean, square, gradient, count):
    moved = ({}, {}, {})
    for name, slope in gradient.items():
        m = DECAY * mean[name] + (1 - DECAY) * slope
        s = DECAY_SQUARED * square[name] + (1 - DECAY_SQUARED) * slope * slope
        change = m / (1 - DECAY**count) / (np.sqrt(s / (1 - DECAY_SQUARED**count)) + SMALL)
        for part, value in zip(moved, (weights[name] - RATE * change, m, s)):
            part[name] = value
    return moved
