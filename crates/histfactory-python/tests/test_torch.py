"""Losses for PyTorch: values, first and second derivatives, batches, training."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from conftest import SCALED, counting, discovery
from torch import Tensor

import histfactory
from histfactory.torch import (
    SignificanceLoss,
    SoftHistogram,
    nll_loss,
    q0_loss,
    sigma_mu_loss,
    upper_limit_loss,
)

torch.set_num_threads(1)

# The inputs of the model with every modifier: yields, templates, uncertainties.
NAMES = {
    "two_bins": ["signal", "background", "*/background/uncorr_bkguncrt"],
    "small": [
        "signal",
        "background",
        "SR/background/background_shape:hi",
        "SR/background/background_shape:lo",
        "SR/background/staterror_SR",
    ],
}


def model_of(name: str) -> histfactory.Model:
    from conftest import DATA

    if name == "small":
        return histfactory.Model.synthetic("small")
    return histfactory.Model.from_workspace(DATA / f"{name}.json")


def current(model: histfactory.Model, names: Sequence[str]) -> list[Tensor]:
    """The model's own numbers, one tensor for each name."""
    objective = histfactory.Objective(model, "nll", list(names))
    parts = np.split(objective.current, np.cumsum(objective.lengths)[:-1])
    return [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in parts]


def losses(model: histfactory.Model, names: Sequence[str]) -> dict[str, Callable[..., Tensor]]:
    """Every loss as a function of the named tensors."""

    def named(loss: Callable[..., Tensor], **options: Any) -> Callable[..., Tensor]:
        return lambda *yields: loss(model, dict(zip(names, yields, strict=True)), **options)

    theta = torch.tensor(model.init + 0.03)
    found: dict[str, Callable[..., Tensor]] = {
        "nll": lambda *yields: nll_loss(model, theta, dict(zip(names, yields, strict=True))),
    }
    for data in ("asimov", "observed", "profiled-asimov"):
        found[f"significance {data}"] = SignificanceLoss(model, names, data=data, smooth=1e-3)
        found[f"q0 {data}"] = named(q0_loss, data=data)
        found[f"sigma_mu {data}"] = named(sigma_mu_loss, data=data)
        found[f"upper_limit {data}"] = named(upper_limit_loss, data=data)
    return found


LOSSES = list(losses(model_of("small"), NAMES["small"]))


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("name", ["two_bins", "small"])
def test_first_and_second_derivatives_are_exact(name: str, kind: str) -> None:
    model = model_of(name)
    if name == "two_bins":
        # An excess, so that q0 on the observed data is positive.
        model = model.with_data([70.0, 66.0])
    names = NAMES[name]
    loss = losses(model, names)[kind]
    yields = current(model, names)
    # The counts are large, so a relative step of 1e-6 of one would be lost in rounding.
    assert torch.autograd.gradcheck(loss, yields, eps=1e-4, atol=1e-7, rtol=1e-5)
    assert torch.autograd.gradgradcheck(loss, yields, eps=1e-4, atol=1e-7, rtol=1e-5)


def test_the_default_loss_follows_asimov_theory(two_bins: histfactory.Model) -> None:
    # pyhf 0.7.6 on the data expected at mu = 1, with the signal multiplied.
    theirs = {0.5: 0.8683690636749, 1.0: 3.325869363846, 2.0: 12.288958988298, 3.0: 25.749171668436}
    [signal] = current(two_bins, ["signal"])
    loss = SignificanceLoss(two_bins, ["signal"])
    for factor, expected in theirs.items():
        scale = torch.tensor(factor, dtype=torch.float64, requires_grad=True)
        q0 = q0_loss(two_bins, {"signal": scale * signal.detach()}).neg()
        assert q0.item() == pytest.approx(expected, rel=1e-6)
        assert loss(scale * signal.detach()).item() == pytest.approx(-math.sqrt(expected), rel=1e-6)
        [slope] = torch.autograd.grad(q0, scale)

        def at(factor: float, signal: Tensor = signal) -> float:
            return -q0_loss(two_bins, {"signal": factor * signal.detach()}).item()

        h = 1e-3
        up, down, up2, down2 = (at(factor + steps * h) for steps in (1, -1, 2, -2))
        fourth = (8 * (up - down) - (up2 - down2)) / (12 * h)
        assert slope.item() > 0 and slope.item() == pytest.approx(fourth, rel=1e-9)


@pytest.mark.parametrize("factor", SCALED)
def test_a_scaled_signal_changes_the_loss_as_predicted(factor: float) -> None:
    model = histfactory.Model.from_workspace(counting())
    [signal] = [tensor.detach() for tensor in current(model, ["signal"])]
    loss = SignificanceLoss(model, ["signal"])

    def q0(scale: Tensor) -> Tensor:
        return q0_loss(model, {"signal": scale * signal}).neg()

    scale = torch.tensor(factor, dtype=torch.float64, requires_grad=True)
    expected, rising = discovery(factor)
    assert q0(scale).item() == pytest.approx(SCALED[factor], abs=5e-6)
    assert q0(scale).item() == pytest.approx(expected, rel=1e-9)
    assert loss(scale * signal).item() == pytest.approx(-math.sqrt(expected), rel=1e-9)
    [slope] = torch.autograd.grad(q0(scale), scale)
    [falling] = torch.autograd.grad(loss(scale * signal), scale)
    h = 1e-4
    central = (q0(scale + h) - q0(scale - h)).item() / (2 * h)
    assert slope.item() > 0 > falling.item()
    assert slope.item() == pytest.approx(rising, rel=1e-9)
    assert slope.item() == pytest.approx(central, rel=1e-7)
    assert falling.item() == pytest.approx(-rising / (2 * math.sqrt(expected)), rel=1e-9)


def test_on_observed_data_the_signal_strength_compensates_a_common_factor(
    two_bins: histfactory.Model,
) -> None:
    model = two_bins.with_data([60.0, 60.0])
    [signal] = current(model, ["signal"])
    values = [
        q0_loss(model, {"signal": factor * signal}, data="observed").item()
        for factor in (0.5, 1.0, 2.0)
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-9)


def refitted(
    model: histfactory.Model,
    quantity: str,
    names: Sequence[str],
    data: str,
    every: int,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Gradients, and differences of fourth order of refitted models."""
    objective = histfactory.Objective(model, quantity, list(names), data=data)
    x = objective.current
    _, gradient = objective.value_and_gradient(x)
    places = [index for index in range(0, len(x), every) if x[index] > 0]
    rows = []
    steps = []
    for index in places:
        h = 2e-4 * x[index]
        steps.append(h)
        for step in (1, -1, 2, -2):
            row = x.copy()
            row[index] += step * h
            rows.append(row)
    values = objective.value(np.array(rows)).reshape(-1, 4)
    differences = (8 * (values[:, 0] - values[:, 1]) - (values[:, 2] - values[:, 3])) / (
        12 * np.array(steps)
    )
    return gradient[places], differences


@pytest.mark.parametrize("data", ["asimov", "observed", "profiled-asimov"])
@pytest.mark.parametrize("quantity", ["q0", "significance", "sigma_mu"])
def test_gradients_match_refits_for_8_parameters(quantity: str, data: str) -> None:
    model = histfactory.Model.synthetic("small")
    assert len(model.parameter_names) == 8
    ours, theirs = refitted(model, quantity, NAMES["small"], data, 1)
    np.testing.assert_allclose(ours, theirs, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("data", ["asimov", "profiled-asimov"])
@pytest.mark.parametrize("quantity", ["q0", "significance"])
def test_gradients_match_refits_for_184_parameters(quantity: str, data: str) -> None:
    model = histfactory.Model.synthetic("combination")
    assert len(model.parameter_names) == 184
    ours, theirs = refitted(model, quantity, model.samples, data, 7)
    np.testing.assert_allclose(ours, theirs, atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("quantity", ["q0", "sigma_mu"])
def test_gradients_hold_where_bounds_hold_the_parameters(
    at_bounds: histfactory.Model, quantity: str
) -> None:
    assert len(at_bounds.fit().at_bound) == 2
    assert len(at_bounds.fit(fixed={"mu": 0.0}).at_bound) == 2
    ours, theirs = refitted(at_bounds, quantity, NAMES["small"], "observed", 1)
    np.testing.assert_allclose(ours, theirs, atol=1e-8, rtol=1e-8)
    objective = histfactory.Objective(at_bounds, quantity, NAMES["small"], data="observed")
    x = objective.current
    along = 0.1 * x
    turned = objective.value_and_gradient_along(x, along)[2]
    h = 1e-3
    up, down, up2, down2 = (
        objective.value_and_gradient(x + step * h * along)[1] for step in (1, -1, 2, -2)
    )
    fourth = (8 * (up - down) - (up2 - down2)) / (12 * h)
    np.testing.assert_allclose(turned, fourth, atol=1e-7)


def test_a_batch_is_its_rows_bit_for_bit() -> None:
    model = histfactory.Model.synthetic("small")
    [signal] = current(model, ["SR/signal"])
    generator = torch.Generator().manual_seed(1)
    factors = 0.5 + torch.rand(64, 1, generator=generator, dtype=torch.float64)
    rows = (factors * signal).detach().requires_grad_()
    loss = SignificanceLoss(model, ["SR/signal"])
    values = loss(rows)
    assert values.shape == (64,)
    [slopes] = torch.autograd.grad(values.sum(), rows)
    for row, value, slope in zip(rows, values, slopes, strict=True):
        alone = row.detach().requires_grad_()
        single = loss(alone)
        assert torch.equal(single, value)
        assert torch.equal(torch.autograd.grad(single, alone)[0], slope)
    stacked = loss(rows.reshape(4, 16, -1))
    assert torch.equal(stacked.reshape(-1), values)
    # One background for all signals.
    [background] = current(model, ["SR/background"])
    both = SignificanceLoss(model, ["SR/signal", "SR/background"])
    assert torch.equal(both(rows, background), values)


def test_functions_of_torch_func_apply() -> None:
    model = histfactory.Model.synthetic("small")
    [signal] = current(model, ["SR/signal"])
    loss = SignificanceLoss(model, ["SR/signal"])
    plain = signal.detach()
    rows = torch.stack([plain, 1.1 * plain, 0.7 * plain])
    slopes = torch.func.vmap(torch.func.grad(loss))(rows)
    for row, slope in zip(rows, slopes, strict=True):
        assert torch.equal(torch.func.grad(loss)(row), slope)
    hessian = torch.func.jacrev(torch.func.jacrev(loss))(plain)
    torch.testing.assert_close(hessian, hessian.T, rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(loss, plain))


def test_no_signal_has_no_slope_unless_it_is_smoothed(two_bins: histfactory.Model) -> None:
    deficit = two_bins.with_data([40.0, 40.0])
    [signal] = current(deficit, ["signal"])
    for smooth in (0.0, 0.1):
        loss = SignificanceLoss(deficit, ["signal"], data="observed", smooth=smooth)
        value = loss(signal)
        assert value.item() == pytest.approx(-math.sqrt(smooth), abs=1e-6)
        [slope] = torch.autograd.grad(value, signal, create_graph=True)
        assert torch.isfinite(slope).all()
    none = torch.zeros_like(signal).requires_grad_()
    value = SignificanceLoss(two_bins, ["signal"], smooth=1e-6)(none)
    [slope] = torch.autograd.grad(value, none)
    assert value.item() == pytest.approx(-1e-3, rel=1e-3) and torch.isfinite(slope).all()


def test_results_have_the_dtype_and_device_of_the_arguments(two_bins: histfactory.Model) -> None:
    [signal] = current(two_bins, ["signal"])
    loss = SignificanceLoss(two_bins, ["signal"])
    single = signal.detach().float().requires_grad_()
    value = loss(single)
    value.backward()
    assert value.dtype == torch.float32 and single.grad is not None
    assert single.grad.dtype == torch.float32
    assert loss({"signal": signal}).dtype == torch.float64
    with torch.no_grad():
        assert not loss(signal).requires_grad
    assert torch.equal(copy.deepcopy(loss)(signal), loss(signal))


def test_wrong_arguments_are_reported(two_bins: histfactory.Model) -> None:
    loss = SignificanceLoss(two_bins, ["signal"])
    with pytest.raises(ValueError, match="must have 2 numbers"):
        loss(torch.ones(3))
    with pytest.raises(TypeError, match="takes 1"):
        loss(torch.ones(2), torch.ones(2))
    with pytest.raises(TypeError, match=r'hint: yields=\["signal"\]'):
        SignificanceLoss(two_bins, "signal")
    with pytest.raises(ValueError, match="profiled-asimov"):
        SignificanceLoss(two_bins, ["signal"], data="azimov")
    with pytest.raises(histfactory.EvaluationError, match="sgnal"):
        SignificanceLoss(two_bins, ["sgnal"])
    with pytest.raises(histfactory.HistfactoryError):
        loss(torch.tensor([math.nan, 1.0]))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e9])
def test_a_bad_row_of_a_batch_is_masked(two_bins: histfactory.Model, bad: float) -> None:
    loss = SignificanceLoss(two_bins, ["signal"])
    rows = torch.tensor([[12.0, 11.0], [bad, 11.0], [10.0, 11.0]], dtype=torch.float64)
    rows.requires_grad_()
    values = loss(rows)
    assert values.isnan().tolist() == [False, True, False]
    assert [why is None for why in loss.status(rows)] == [True, False, True]
    values.nanmean().backward()
    assert rows.grad is not None and rows.grad.isfinite().all() and (rows.grad[1] == 0.0).all()
    alone = rows.detach()[:1].clone().requires_grad_()
    loss(alone).sum().backward()
    assert alone.grad is not None
    assert torch.allclose(rows.grad[0], alone.grad[0] / 2, rtol=1e-13)
    [slopes] = torch.autograd.grad(loss(rows).nansum(), rows, create_graph=True)
    [turned] = torch.autograd.grad(slopes.sum(), rows)
    assert turned.isfinite().all() and (turned[1] == 0.0).all()


def train(seed: int, steps: int = 5) -> list[Tensor]:
    torch.manual_seed(seed)
    model = histfactory.Model.synthetic("small")
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    histogram = SoftHistogram([0.0, 0.4, 1.0], 0.1, flow="merge")
    loss = SignificanceLoss(model, ["SR/signal", "SR/background"], templates="ride")
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    events = torch.randn(400, 2)
    history = []
    for _ in range(steps):
        scores = torch.sigmoid(network(events)).squeeze(-1)
        signal = histogram(scores[:200] + 0.1) * 0.1
        background = histogram(scores[200:]) + 1.0
        value = loss(signal, background)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        history.append(value.detach())
    return history + [parameter.detach().clone() for parameter in network.parameters()]


def test_training_is_reproducible_bit_for_bit_for_a_seed() -> None:
    first, second, other = train(3), train(3), train(4)
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))
    assert not all(torch.equal(one, two) for one, two in zip(first, other, strict=True))
    assert first[4] < first[0]
