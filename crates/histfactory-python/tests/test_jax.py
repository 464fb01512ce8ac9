"""histfactory.jax: values, derivatives, transformations and errors."""

from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import SCALED, counting, discovery

import histfactory
import histfactory.jax as losses

jax.config.update("jax_enable_x64", True)

# One channel of two bins; every number is ours.
BINS = {
    "channels": [
        {
            "name": "SR",
            "samples": [
                {
                    "name": "signal",
                    "data": [7.0, 4.0],
                    "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                },
                {
                    "name": "background",
                    "data": [40.0, 60.0],
                    "modifiers": [
                        {"name": "rate", "type": "normsys", "data": {"hi": 1.1, "lo": 0.92}},
                        {
                            "name": "shape",
                            "type": "histosys",
                            "data": {"hi_data": [42.0, 57.0], "lo_data": [38.5, 62.0]},
                        },
                        {"name": "stat", "type": "staterror", "data": [2.0, 3.0]},
                    ],
                },
            ],
        }
    ],
    "observations": [{"name": "SR", "data": [51.0, 62.0]}],
    "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    "version": "1.0.0",
}
SIGNAL = jnp.array([7.0, 4.0])
BACKGROUND = jnp.array([40.0, 60.0])


@pytest.fixture(scope="module")
def model() -> histfactory.Model:
    return histfactory.Model.from_workspace(BINS)


def difference(function: Any, x: Any, *, step: float = 2e-4, only: Any = None) -> np.ndarray:
    """The gradient by differences of fourth order, or some of its components."""
    slopes = np.zeros(len(x))
    for index in range(len(x)) if only is None else only:
        h = step * max(abs(float(x[index])), 0.1)

        def at(steps: float, index: int = index, h: float = h) -> float:
            return float(function(x.at[index].add(steps * h)))

        slopes[index] = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
    return slopes


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    scale = 1 + np.abs(np.asarray(theirs))
    error = np.max(np.abs(np.asarray(ours) - np.asarray(theirs)) / scale)
    assert error < tolerance, (error, ours, theirs)


def test_the_loss_is_minus_the_significance_of_the_model(model: histfactory.Model) -> None:
    for data in ("asimov", "observed", "profiled-asimov"):
        loss = losses.SignificanceLoss(model, yields=["signal"], data=data)
        assert float(loss(SIGNAL)) == -model.significance(data).z
        changed = model.with_yields({"signal": [9.0, 2.0]})
        assert float(loss(jnp.array([9.0, 2.0]))) == -changed.significance(data).z


@pytest.mark.parametrize("data", ["asimov", "observed", "profiled-asimov"])
def test_gradients_match_refitted_models(model: histfactory.Model, data: str) -> None:
    names = ["signal", "background", "SR/background/shape:hi", "SR/background/stat"]
    loss = losses.SignificanceLoss(model, yields=names, data=data)
    whole = jnp.concatenate([SIGNAL, BACKGROUND, jnp.array([42.0, 57.0, 2.0, 3.0])])

    def flat(x: jax.Array) -> jax.Array:
        return loss(x[:2], x[2:4], x[4:6], x[6:])

    close(jax.jit(jax.grad(flat))(whole), difference(jax.jit(flat), whole), 1e-8)


def test_the_gradient_holds_on_many_parameters() -> None:
    model = histfactory.Model.synthetic("combination")
    assert len(model.parameter_names) == 184
    loss = losses.SignificanceLoss(model, yields=["signal_decay"])
    x = jnp.asarray(histfactory.Objective(model, "significance", ["signal_decay"]).current)
    slopes, compiled = jax.jit(jax.grad(loss))(x), jax.jit(loss)
    for index in range(0, len(x), 7):
        close(slopes[index], difference(compiled, x, only=[index])[index], 1e-7)


def test_gradients_hold_where_bounds_hold_parameters(at_bounds: histfactory.Model) -> None:
    x = jnp.asarray(histfactory.Objective(at_bounds, "q0", ["signal"]).current)
    for data in ("asimov", "observed"):

        def q0(x: jax.Array, data: str = data) -> jax.Array:
            return losses.q0_loss(at_bounds, {"signal": x}, data=data)

        close(jax.grad(q0)(x), difference(jax.jit(q0), x), 1e-8)


def test_the_default_loss_depends_on_the_size_of_the_signal(model: histfactory.Model) -> None:
    factors = jnp.array([0.5, 1.0, 2.0, 3.0])

    def q0(factor: jax.Array, data: str) -> jax.Array:
        return -losses.q0_loss(model, {"signal": factor * SIGNAL}, data=data)

    expected = jax.vmap(lambda factor: q0(factor, "asimov"))(factors)
    assert np.all(np.diff(expected) > 0)
    # Nearly quadratic for little signal, less than that for much of it.
    assert 3.0 < float(expected[1] / expected[0]) < 4.0
    slope = jax.grad(q0)(1.0, "asimov")
    h = 1e-4
    theirs = (q0(1 + h, "asimov") - q0(1 - h, "asimov")) / (2 * h)
    assert slope > 0
    close(slope, theirs, 1e-6)
    blind = jax.vmap(lambda factor: q0(factor, "observed"))(factors)
    close(blind, blind[1] * np.ones(4), 1e-9)


@pytest.mark.parametrize("factor", SCALED)
def test_a_scaled_signal_changes_the_loss_as_predicted(factor: float) -> None:
    model = histfactory.Model.from_workspace(counting())
    signal = jnp.asarray(histfactory.Objective(model, "q0", ["signal"]).current)
    loss = losses.SignificanceLoss(model, yields=["signal"])

    @jax.jit
    def q0(scale: jax.Array) -> jax.Array:
        return -losses.q0_loss(model, {"signal": scale * signal})

    expected, rising = discovery(factor)
    assert float(q0(factor)) == pytest.approx(SCALED[factor], abs=5e-6)
    assert float(q0(factor)) == pytest.approx(expected, rel=1e-9)
    value, falling = jax.jit(jax.value_and_grad(lambda scale: loss(scale * signal)))(factor)
    assert float(value) == pytest.approx(-math.sqrt(expected), rel=1e-9)
    slope = float(jax.jit(jax.grad(q0))(factor))
    h = 1e-4
    central = float(q0(factor + h) - q0(factor - h)) / (2 * h)
    assert slope > 0 > float(falling)
    assert slope == pytest.approx(rising, rel=1e-9)
    assert slope == pytest.approx(central, rel=1e-7)
    assert float(falling) == pytest.approx(-rising / (2 * math.sqrt(expected)), rel=1e-9)


def test_jit_vmap_and_grad_agree_to_the_last_bit(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal", "background"])
    signals = SIGNAL * (1 + 0.01 * jnp.arange(64)[:, None])

    def one(signal: jax.Array) -> jax.Array:
        return loss(signal, BACKGROUND)

    both = jax.value_and_grad(one)
    values, slopes = jax.jit(jax.vmap(both))(signals)
    assert values.shape == (64,)
    assert slopes.shape == (64, 2)
    singly = [both(signal) for signal in signals]
    assert np.array_equal(values, np.stack([value for value, _ in singly]))
    assert np.array_equal(slopes, np.stack([slope for _, slope in singly]))
    assert np.array_equal(values, loss(signals, BACKGROUND))
    in_order = jax.jit(jax.grad(lambda signals: jax.vmap(one)(signals).sum()))(signals)
    assert np.array_equal(slopes, in_order)


def test_an_inner_axis_can_be_mapped_too(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    signals = SIGNAL[:, None] * (1 + 0.1 * jnp.arange(5))
    mapped = jax.vmap(jax.grad(loss), in_axes=1, out_axes=1)(signals)
    for index in range(5):
        assert np.array_equal(mapped[:, index], jax.grad(loss)(signals[:, index]))


def test_the_core_returns_the_same_to_numpy(model: histfactory.Model) -> None:
    objective = histfactory.Objective(model, "significance", ["signal"])
    points = np.asarray(SIGNAL) * (1 + 0.01 * np.arange(8)[:, None])
    values, slopes = objective.value_and_gradient(points)
    loss = losses.SignificanceLoss(model, yields=["signal"])
    ours, gradients = jax.vmap(jax.value_and_grad(loss))(jnp.asarray(points))
    assert np.array_equal(ours, -values)
    assert np.array_equal(gradients, -slopes)
    assert np.array_equal(objective.value(points), values)


def test_the_likelihood_can_be_differentiated_in_parameters_and_yields(
    model: histfactory.Model,
) -> None:
    theta = jnp.asarray(model.init) + 0.05

    def nll(theta: jax.Array, signal: jax.Array) -> jax.Array:
        return losses.nll_loss(model, theta, {"signal": signal})

    assert float(nll(theta, SIGNAL)) == model.nll(np.asarray(theta))
    in_theta, in_signal = jax.jit(jax.grad(nll, argnums=(0, 1)))(theta, SIGNAL)
    close(in_theta, model.nll_and_grad(np.asarray(theta))[1], 1e-14)
    close(in_signal, difference(lambda signal: nll(theta, signal), SIGNAL), 1e-8)


QUANTITIES = {
    "significance": lambda model, x: -losses.SignificanceLoss(model, yields=["signal"])(x),
    "observed": lambda model, x: (
        -losses.SignificanceLoss(model, yields=["signal"], data="observed", smooth=0.1)(x)
    ),
    "q0": lambda model, x: -losses.q0_loss(model, {"signal": x}),
    "sigma_mu": lambda model, x: losses.sigma_mu_loss(model, {"signal": x}),
    "upper_limit": lambda model, x: losses.upper_limit_loss(model, {"signal": x}),
    "nll": lambda model, x: losses.nll_loss(model, model.init + 0.05, {"signal": x}),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_quantity_has_its_gradient(model: histfactory.Model, name: str) -> None:
    def function(x: jax.Array) -> jax.Array:
        return QUANTITIES[name](model, x)

    close(jax.jit(jax.grad(function))(SIGNAL), difference(jax.jit(function), SIGNAL), 1e-7)


@pytest.mark.parametrize("name", ["significance", "observed", "q0", "nll"])
def test_second_derivatives_match_differences_of_gradients(
    model: histfactory.Model, name: str
) -> None:
    def function(x: jax.Array) -> jax.Array:
        return QUANTITIES[name](model, x)

    hessian = jax.jit(jax.hessian(function))(SIGNAL)
    slope = jax.jit(jax.grad(function))
    for index in range(2):
        theirs = difference(lambda x, index=index: slope(x)[index], SIGNAL)
        close(hessian[index], theirs, 1e-7)
    twice = jax.jacrev(jax.jacrev(function))(SIGNAL)
    close(twice, hessian, 1e-14)
    _, along = jax.jvp(slope, (SIGNAL,), (jnp.array([1.0, -2.0]),))
    close(along, hessian @ jnp.array([1.0, -2.0]), 1e-14)
    batch = SIGNAL * (1 + 0.1 * jnp.arange(4)[:, None])
    mapped = jax.jit(jax.vmap(jax.hessian(function)))(batch)
    assert np.array_equal(mapped[1], jax.hessian(function)(batch[1]))


def test_third_derivatives_are_rejected(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    with pytest.raises(NotImplementedError, match="no third ones"):
        jax.jacfwd(jax.hessian(loss))(SIGNAL)


def test_single_precision_networks_get_single_precision_gradients(
    model: histfactory.Model,
) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    signal = SIGNAL.astype(jnp.float32)
    assert loss(signal).dtype == jnp.float64
    assert jax.grad(loss)(signal).dtype == jnp.float32


def test_a_compiled_program_outlives_model_and_loss() -> None:
    def made() -> Any:
        model = histfactory.Model.from_workspace(BINS)
        loss = losses.SignificanceLoss(model, yields=["signal"])
        return jax.jit(jax.value_and_grad(loss)).lower(SIGNAL).compile(), loss(SIGNAL)

    compiled, expected = made()
    jax.clear_caches()
    gc.collect()
    assert compiled(SIGNAL)[0] == expected


def test_errors_are_raised_with_the_messages_of_the_core(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    with pytest.raises(Exception, match="input 1 is NaN"):
        jax.block_until_ready(jax.jit(loss)(jnp.array([1.0, jnp.nan])))
    with pytest.raises(Exception, match="row 0: input 0 is inf"):
        jax.block_until_ready(jax.jit(jax.vmap(loss))(jnp.full((4, 2), jnp.inf)))
    # Later calls still work.
    assert np.isfinite(jax.jit(loss)(SIGNAL))


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -1e9])
def test_a_bad_row_of_a_batch_is_masked(model: histfactory.Model, bad: float) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    signals = (SIGNAL * jnp.ones((4, 1))).at[2, 0].set(bad)
    values = jax.jit(jax.vmap(loss))(signals)
    assert np.isnan(values[2]) and np.isfinite(values[jnp.array([0, 1, 3])]).all()
    status = loss.status(signals)
    assert [why is None for why in status] == [True, True, False, True]
    total, slopes = jax.jit(jax.value_and_grad(lambda x: jnp.nanmean(loss(x))))(signals)
    assert np.isclose(total, loss(SIGNAL), rtol=1e-14)
    close(slopes[0], jax.grad(loss)(SIGNAL) / 3, 1e-13)
    assert (slopes[2] == 0.0).all()
    twice = jax.jit(jax.hessian(lambda x: jnp.nanmean(loss(x))))(signals)
    assert np.isfinite(twice).all()


def test_wrong_shapes_are_rejected_when_traced(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    with pytest.raises(ValueError, match=r"'signal' has the shape \(3,\).*2 numbers"):
        jax.jit(loss)(jnp.ones(3))
    with pytest.raises(TypeError, match="2 arrays given, the loss takes 1"):
        loss(SIGNAL, BACKGROUND)
    with pytest.raises(TypeError, match="hint: yields="):
        losses.SignificanceLoss(model, yields="signal")
    with pytest.raises(histfactory.EvaluationError, match="no sample `nothing`"):
        losses.SignificanceLoss(model, yields=["nothing"])
    with pytest.raises(ValueError, match="there is no data set"):
        losses.SignificanceLoss(model, yields=["signal"], data="other")
    with pytest.raises(histfactory.EvaluationError, match="named twice"):
        losses.SignificanceLoss(model, yields=["signal", "SR/signal"])


def test_yields_can_be_given_by_name(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal", "background"])
    named = {"background": BACKGROUND, "signal": SIGNAL}
    assert loss(named) == loss(SIGNAL, BACKGROUND)
    slopes = jax.grad(loss)(named)
    assert set(slopes) == set(named)
    with pytest.raises(ValueError, match="the loss takes"):
        loss({"signal": SIGNAL})


def test_a_soft_histogram_approaches_the_plain_one() -> None:
    random = np.random.default_rng(4)
    values, weights = random.normal(size=2000), random.uniform(0.5, 2.0, 2000)
    edges = np.array([-2.0, -0.5, -0.4, 1.0, 2.5])
    plain, _ = np.histogram(values, edges, weights=weights)
    squares, _ = np.histogram(values, edges, weights=weights**2)
    histogram = losses.SoftHistogram(edges, 1e-7)
    contents, variances = histogram.with_squares(values, weights)
    np.testing.assert_allclose(contents, plain, rtol=1e-9)
    np.testing.assert_allclose(variances, squares, rtol=1e-9)
    np.testing.assert_allclose(histogram.hard(values, weights), plain, rtol=1e-12)
    kept = losses.SoftHistogram(edges, 0.3, flow="keep")
    np.testing.assert_allclose(kept(values, weights).sum(), weights.sum(), rtol=1e-12)
    assert kept.bins == 6
    merged = losses.SoftHistogram(edges, 0.3, flow="merge")(values, weights)
    np.testing.assert_allclose(merged[0], kept(values, weights)[:2].sum(), rtol=1e-12)
    slopes = jax.jit(jax.grad(lambda x: kept(x, bandwidth=0.2)[2]))(jnp.asarray(values[:5]))
    theirs = difference(lambda x: kept(x, bandwidth=0.2)[2], jnp.asarray(values[:5]))
    np.testing.assert_allclose(slopes, theirs, atol=1e-9)


def test_histogram_and_loss_train_together(model: histfactory.Model) -> None:
    histogram = losses.SoftHistogram([0.0, 0.4, 1.0], 0.1, flow="merge")
    loss = losses.SignificanceLoss(
        model, yields=["signal", "background", "SR/background/stat"], templates="ride"
    )
    random = np.random.default_rng(5)
    signal, background = random.normal(1.0, 1.0, 300), random.normal(-1.0, 1.0, 300)

    def total(cut: jax.Array) -> jax.Array:
        def score(x: np.ndarray) -> jax.Array:
            return jax.nn.sigmoid(cut[0] * x + cut[1])

        contents, errors = histogram.with_errors(score(background), np.full(300, 100 / 300))
        return loss(histogram(score(signal), np.full(300, 11 / 300)), contents, errors)

    start = jnp.array([1.0, 0.0])
    close(jax.jit(jax.grad(total))(start), difference(jax.jit(total), start), 1e-7)


def test_without_double_precision_there_is_a_hint() -> None:
    code = (
        "import json, sys, jax, histfactory, histfactory.jax\n"
        "model = histfactory.Model.from_workspace(json.loads(sys.argv[1]))\n"
        "histfactory.jax.SignificanceLoss(model, yields=['signal'])([7.0, 4.0])\n"
    )
    environment = {name: text for name, text in os.environ.items() if name != "JAX_ENABLE_X64"}
    finished = subprocess.run(
        [sys.executable, "-c", code, json.dumps(BINS)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert finished.returncode == 1
    assert 'hint: jax.config.update("jax_enable_x64", True)' in finished.stderr


def test_no_python_is_called_by_a_compiled_program(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])
    text = jax.jit(jax.vmap(jax.value_and_grad(loss))).lower(SIGNAL * jnp.ones((64, 1))).as_text()
    assert text.count("histfactory_evaluate") == 1
    assert "callback" not in text


def test_a_training_run_is_reproducible_to_the_last_bit(model: histfactory.Model) -> None:
    loss = losses.SignificanceLoss(model, yields=["signal"])

    def run(seed: int) -> Any:
        weights = 0.1 * jax.random.normal(jax.random.key(seed), (2,))

        @jax.jit
        def step(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
            value, slope = jax.value_and_grad(lambda weights: loss(11.0 * jax.nn.softmax(weights)))(
                weights
            )
            return weights - 0.5 * slope, value

        values = []
        for _ in range(20):
            weights, value = step(weights)
            values.append(float(value))
        return values, np.asarray(weights)

    first, again = run(1), run(1)
    assert first[0] == again[0]
    assert np.array_equal(first[1], again[1])
    assert first[0][-1] < first[0][0]
