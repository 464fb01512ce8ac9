"""Losses on a GPU, with a driver that runs the kernels on the processor."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu
import numpy as np
import pytest
import torch
from torch import Tensor

import histfactory
from histfactory import _gpu
from histfactory.torch import SignificanceLoss, nll_loss, q0_loss

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return gpu.load(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def driver(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    """The driver in place, and every tensor on its GPU."""
    monkeypatch.setattr(_gpu, "ordinal_of", lambda tensor: 0)
    monkeypatch.setattr(_gpu, "_stream", lambda tensor: 0)
    yield library
    library.driver_reset()


def names_of(model: histfactory.Model) -> list[str]:
    """Two samples of the model."""
    return ["signal", "background"] if "signal" in model.samples else model.samples[:2]


def yields(model: histfactory.Model, rows: int) -> tuple[Tensor, Tensor]:
    """The yields of these samples, another size in each row."""
    objective = histfactory.Objective(model, "significance", names_of(model))
    signal, background = np.split(objective.current, [objective.lengths[0]])
    sizes = torch.linspace(0.8, 1.2, rows, dtype=torch.float64).unsqueeze(-1)
    given = sizes * torch.from_numpy(signal), torch.from_numpy(background) / sizes
    return given[0].requires_grad_(), given[1].requires_grad_()


def losses(model: histfactory.Model) -> dict[str, tuple[Any, Any]]:
    """Each loss on the GPU and on the CPU."""
    names = names_of(model)
    significance = SignificanceLoss(model, names), SignificanceLoss(model, names, device="cpu")
    smooth = [SignificanceLoss(model, names, smooth=0.1, device=w) for w in ("cuda", "cpu")]
    riding = [SignificanceLoss(model, names, templates="ride", device=w) for w in ("cuda", "cpu")]
    return {
        "significance": significance,
        "smooth": (smooth[0], smooth[1]),
        "riding": (riding[0], riding[1]),
    }


@pytest.mark.parametrize("name", ["small", "combination"])
@pytest.mark.parametrize("kind", ["significance", "smooth", "riding"])
def test_values_and_slopes_are_those_of_the_cpu(driver: ctypes.CDLL, name: str, kind: str) -> None:
    model = histfactory.Model.synthetic(name)
    on_gpu, on_cpu = losses(model)[kind]
    given = yields(model, 5)
    before = driver.driver_launches()
    value = on_gpu(*given)
    slopes = torch.autograd.grad(value.sum(), given)
    assert driver.driver_launches() == before + 1
    expected = on_cpu(*given)
    others = torch.autograd.grad(expected.sum(), given)
    assert driver.driver_launches() == before + 1
    torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-12)
    for ours, theirs in zip(slopes, others, strict=True):
        assert (ours - theirs).abs().max() <= 1e-8 * theirs.abs().max()


def test_q0_and_single_rows_and_float32(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    signal, background = (row[0].detach() for row in yields(model, 1))
    names = {"signal": signal, "background": background}
    found = q0_loss(model, names)
    assert found.shape == () and found.dtype == torch.float64
    assert driver.driver_launches() > 0
    narrow = q0_loss(model, {name: tensor.float() for name, tensor in names.items()})
    assert narrow.dtype == torch.float32
    torch.testing.assert_close(narrow.double(), found, rtol=1e-5, atol=0)


def test_tensors_that_are_not_contiguous_and_shared_by_a_batch(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    signal, background = (tensor.detach() for tensor in yields(model, 4))
    loss = SignificanceLoss(model, ["signal", "background"])
    shared = background[0].clone().requires_grad_()
    strided = signal.repeat_interleave(2, dim=-1)[..., ::2]
    assert not strided.is_contiguous()
    value = loss(strided, shared)
    assert value.shape == (4,)
    value.sum().backward()
    expected = [loss(row, shared.detach()) for row in signal]
    torch.testing.assert_close(value, torch.stack(expected), rtol=0, atol=0)
    assert shared.grad is not None and shared.grad.shape == shared.shape


def test_second_derivatives_and_vmap(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    loss = SignificanceLoss(model, ["signal", "background"])
    signal, background = (row[0].detach() for row in yields(model, 1))
    hessian = torch.autograd.functional.hessian(lambda x: loss(x, background), signal)
    on_cpu = SignificanceLoss(model, ["signal", "background"], device="cpu")
    expected = torch.autograd.functional.hessian(lambda x: on_cpu(x, background), signal)
    torch.testing.assert_close(hessian, expected, rtol=1e-6, atol=1e-12)
    rows = torch.stack([signal, 1.1 * signal])
    mapped = torch.func.vmap(lambda x: loss(x, background))(rows)
    torch.testing.assert_close(mapped, loss(rows, background), rtol=0, atol=0)


def test_a_bad_row_is_nan_with_a_reason_and_without_slopes(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    loss = SignificanceLoss(model, ["signal", "background"])
    signal, background = yields(model, 3)
    broken = signal.detach().clone()
    broken[1, 0] = float("nan")
    broken.requires_grad_()
    value = loss(broken, background)
    assert value.isnan().tolist() == [False, True, False]
    value.nansum().backward()
    assert broken.grad is not None and broken.grad[1].eq(0).all()
    [first, second, third] = loss.status(broken, background)
    assert first is None and third is None
    assert second == "the likelihood has no value at the start of the fit"


def test_unsupported_models_use_the_cpu_with_a_warning(driver: ctypes.CDLL) -> None:
    workspace = histfactory.synthetic_workspace("small")
    kinked = histfactory.Model.from_workspace(workspace, interpolation={"histosys": "code0"})
    signal, background = (tensor.detach() for tensor in yields(kinked, 2))
    loss = SignificanceLoss(kinked, ["signal", "background"])
    with pytest.warns(UserWarning, match="computed on the CPU.*histosys has kinks"):
        value = loss(signal, background)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = SignificanceLoss(kinked, ["signal", "background"], device="cpu")
        assert torch.equal(loss(signal, background), value)
        assert torch.equal(expected(signal, background), value)
    forced = SignificanceLoss(kinked, ["signal", "background"], device="cuda")
    with pytest.raises(NotImplementedError, match="histosys has kinks"):
        forced(signal, background)


def test_other_losses_use_the_cpu_with_a_warning(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    with pytest.warns(UserWarning, match="this objective cannot be computed on the GPU"):
        nll_loss(model, torch.from_numpy(model.init))


def test_with_little_memory_fewer_rows_run_at_once(
    driver: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = histfactory.Model.synthetic("combination")
    signal, background = (tensor.detach() for tensor in yields(model, 6))
    loss = SignificanceLoss(model, names_of(model))
    expected = loss(signal, background)
    found = _gpu.Gpu(histfactory.Objective(model, "significance", names_of(model)), 0)
    most = found._native.scratch_bytes(2)
    plain = torch.empty

    def limited(*size: Any, **options: Any) -> Tensor:
        if options.get("dtype") == torch.uint8 and size[0] > most:
            raise torch.cuda.OutOfMemoryError("planted")
        return plain(*size, **options)

    monkeypatch.setattr(torch, "empty", limited)
    torch.testing.assert_close(loss(signal, background), expected, rtol=0, atol=0)
    most = 0
    with pytest.raises(torch.cuda.OutOfMemoryError):
        loss(signal, background)


def test_a_first_call_inside_a_graph_is_refused(
    driver: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = histfactory.Model.synthetic("small")
    signal, background = (tensor.detach() for tensor in yields(model, 1))
    loss = SignificanceLoss(model, ["signal", "background"])
    monkeypatch.setattr(_gpu, "_is_capturing", lambda: True)
    with pytest.raises(RuntimeError, match=r"call it once before torch\.cuda\.graph"):
        loss(signal, background)
    monkeypatch.setattr(_gpu, "_is_capturing", lambda: False)
    value = loss(signal, background)
    monkeypatch.setattr(_gpu, "_is_capturing", lambda: True)
    assert torch.equal(loss(signal, background), value)


def test_a_forked_process_gets_the_reason(driver: ctypes.CDLL) -> None:
    model = histfactory.Model.synthetic("small")
    signal, background = (tensor.detach() for tensor in yields(model, 1))
    loss = SignificanceLoss(model, ["signal", "background"])
    loss(signal, background)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            loss(signal, background)
            text = "no error"
        except RuntimeError as problem:
            text = str(problem)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert "before this process was forked" in stream.read()
    os.waitpid(child, 0)


def test_an_unknown_device_is_refused() -> None:
    model = histfactory.Model.synthetic("small")
    with pytest.raises(ValueError, match='take one of "auto", "cpu", "cuda"'):
        SignificanceLoss(model, ["signal"], device="gpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("test, mu", [("q0", 0.0), ("qtilde", 1.0)])
def test_toys_have_the_statistics_of_the_cpu(driver: ctypes.CDLL, test: Any, mu: float) -> None:
    model = histfactory.Model.synthetic("small")
    theta = model.init
    assert model.poi_index is not None
    theta[model.poi_index] = mu
    found = model.toy_statistics(theta, mu, 50, 3, test, device="cuda")
    expected = model.toy_statistics(theta, mu, 50, 3, test)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    with pytest.raises(NotImplementedError, match="one search for minima"):
        model.toy_statistics(theta, mu, 5, search="global", device="cuda")
    with pytest.raises(ValueError, match='take one of "cpu", "cuda"'):
        model.toy_statistics(theta, mu, 5, device="gpu")  # type: ignore[arg-type]


def refusal(first: str = "") -> str:
    """The reason why a process of its own has no toys on the GPU: a process opens it once."""
    program = (
        f"{first}\n"
        "import histfactory\n"
        "model = histfactory.Model.synthetic('small')\n"
        "try: model.toy_statistics(model.init, 1.0, 5, device='cuda')\n"
        "except RuntimeError as problem: print(problem)\n"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_an_old_driver_is_named() -> None:
    faulty = (
        "import pathlib, tempfile, gpu\n"
        "driver = gpu.load(pathlib.Path(tempfile.mkdtemp()))\n"
        "driver.driver_set(gpu.VERSION, 11040)"
    )
    expected = "the CUDA driver is too old: version 11.4, at least 12.0 is needed\n"
    assert refusal(faulty) == expected


@pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="this machine has a driver")
def test_without_a_driver_that_is_the_reason() -> None:
    assert refusal() == "no CUDA driver was found\n"
