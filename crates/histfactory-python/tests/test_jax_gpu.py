"""Losses of JAX on a GPU, with a driver that runs the kernels on the processor."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import gpu
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import histfactory
import histfactory.jax as front

jax.config.update("jax_enable_x64", True)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = gpu.load(tmp_path_factory.mktemp("driver"))
    front._register_gpu("cpu")
    return library


@pytest.fixture
def driver(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    """The driver in place, and every array on its GPU."""
    monkeypatch.setattr(front, "_has_gpu", lambda: True)
    monkeypatch.setattr(front, "_by_platform", lambda x, cpu, gpu: gpu(x))
    monkeypatch.setattr(front, "_default_stream", True)
    yield library
    library.driver_reset()


def on_cpu(monkeypatch: pytest.MonkeyPatch, loss: Any, *given: Any) -> Any:
    """The value and the slopes of a loss on the CPU."""
    with monkeypatch.context() as patch:
        patch.setattr(front, "_has_gpu", lambda: False)
        return jax.value_and_grad(lambda *x: loss(*x).sum(), argnums=(0, 1))(*given)


def yields(model: histfactory.Model, rows: int) -> tuple[jax.Array, jax.Array]:
    names = model.samples[:2]
    objective = histfactory.Objective(model, "significance", names)
    first, second = np.split(objective.current, [objective.lengths[0]])
    sizes = np.linspace(0.8, 1.2, rows)[:, None]
    return jnp.asarray(sizes * first), jnp.asarray(second / sizes)


@pytest.mark.parametrize("name", ["small", "combination"])
def test_values_and_slopes_are_those_of_the_cpu(
    driver: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model = histfactory.Model.synthetic(name)
    names = model.samples[:2]
    loss = front.SignificanceLoss(model, names)
    given = yields(model, 4)
    before = driver.driver_launches()
    compiled = jax.jit(jax.value_and_grad(lambda *x: loss(*x).sum(), argnums=(0, 1)))
    value, slopes = jax.block_until_ready(compiled(*given))
    assert driver.driver_launches() > before
    other = front.SignificanceLoss(model, names)
    expected, others = on_cpu(monkeypatch, other, *given)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for ours, theirs in zip(slopes, others, strict=True):
        assert np.abs(ours - theirs).max() <= 1e-8 * np.abs(theirs).max()


def test_a_mapped_axis_is_one_launch(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    loss = front.SignificanceLoss(model, model.samples[:2])
    given = yields(model, 6)
    expected = np.asarray(loss(*given))
    before = driver.driver_launches()
    mapped = np.asarray(jax.vmap(loss)(*given))
    assert driver.driver_launches() == before + 1
    np.testing.assert_array_equal(mapped, expected)
    shaped = [array.reshape(2, 3, -1) for array in given]
    np.testing.assert_array_equal(jax.vmap(jax.vmap(loss))(*shaped), expected.reshape(2, 3))
    slopes = jax.jit(jax.vmap(jax.grad(loss)))(*given)
    np.testing.assert_array_equal(slopes, jax.grad(lambda x: loss(x, given[1]).sum())(given[0]))


def test_a_compiled_program_outlives_its_loss(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    loss = front.SignificanceLoss(model, model.samples[:2])
    given = yields(model, 2)
    program = jax.jit(loss.__call__).lower(*given).compile()
    expected = program(*given)
    del loss, model
    gc.collect()
    np.testing.assert_array_equal(program(*given), expected)


def test_a_bad_row_is_nan_without_slopes(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    loss = front.SignificanceLoss(model, model.samples[:2])
    first, second = yields(model, 3)
    first = first.at[1, 0].set(jnp.nan)
    value, slopes = jax.value_and_grad(lambda x: jnp.nansum(loss(x, second)))(first)
    assert np.isfinite(value) and np.all(slopes[1] == 0.0) and np.any(slopes[0] != 0.0)
    assert np.isnan(loss(first, second)).tolist() == [False, True, False]


def test_a_failure_of_the_driver_is_the_error_of_the_call(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    loss = front.SignificanceLoss(model, model.samples[:2])
    given = yields(model, 2)
    loss(*given)
    fresh = front.SignificanceLoss(model, model.samples[1::-1])
    assert fresh._loss.function.on_gpu is not None
    driver.driver_set(gpu.MEMORY, 0)
    with pytest.raises(Exception, match="bytes left"):
        fresh(*reversed(given))
