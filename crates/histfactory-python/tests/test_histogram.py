"""Compares the soft histogram with the plain one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from histfactory._histogram import Flow
from histfactory.torch import SoftHistogram

EDGES = [0.0, 0.05, 0.3, 0.35, 1.0]


def events(count: int = 500) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    values = 1.4 * torch.rand(count, generator=generator, dtype=torch.float64) - 0.2
    weights = torch.rand(count, generator=generator, dtype=torch.float64) + 0.5
    return values, weights


def test_it_approaches_the_plain_histogram_for_bins_of_any_width() -> None:
    values, weights = events()
    plain, _ = np.histogram(values.numpy(), bins=EDGES, weights=weights.numpy())
    squares, _ = np.histogram(values.numpy(), bins=EDGES, weights=weights.numpy() ** 2)
    distances = []
    for bandwidth in (0.02, 0.002, 0.0002, 1e-7):
        histogram = SoftHistogram(EDGES, bandwidth)
        contents, soft_squares = histogram.with_squares(values, weights)
        distances.append(float(np.abs(contents.numpy() - plain).max()))
    assert distances == sorted(distances, reverse=True)
    np.testing.assert_allclose(contents.numpy(), plain, rtol=1e-9)
    np.testing.assert_allclose(soft_squares.numpy(), squares, rtol=1e-9)
    np.testing.assert_allclose(histogram.hard(values, weights).numpy(), plain, rtol=1e-12)
    np.testing.assert_allclose(
        SoftHistogram(EDGES, 0.0)(values, weights).numpy(), plain, rtol=1e-12
    )


def test_many_events_in_single_precision_leave_a_rare_bin_exact() -> None:
    generator = torch.Generator().manual_seed(7)
    values = torch.rand(200_000, generator=generator, dtype=torch.float64)
    values = values**0.1
    edges = [0.0, 0.3, 0.5, 0.9, 1.0]
    for flow in ("drop", "merge", "keep"):
        histogram = SoftHistogram(edges, 0.005, flow=flow)
        whole, single = histogram(values), histogram(values.float())
        assert single.dtype == torch.float32
        assert ((whole > 100.0) & (whole < 300.0)).any() and whole.max().item() > 1e5
        torch.testing.assert_close(single.double(), whole, rtol=2e-5, atol=2e-3)


def test_a_bin_without_events_is_empty() -> None:
    values, weights = events()
    histogram = SoftHistogram([-9.0, -8.0, 0.0, 1.0, 8.0, 9.0], 0.01)
    contents = histogram(values, weights)
    assert contents[0].item() == 0.0 and contents[-1].item() == 0.0


def test_the_last_edge_belongs_to_the_last_bin() -> None:
    values = torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64)
    plain, _ = np.histogram(values.numpy(), bins=EDGES)
    np.testing.assert_array_equal(SoftHistogram(EDGES, 0.1).hard(values).numpy(), plain)


@pytest.mark.parametrize("bandwidth", [0.3, 0.01])
def test_nothing_is_lost_between_bins(bandwidth: float) -> None:
    values, weights = events()
    total = weights.sum().item()
    for flow in ("merge", "keep"):
        histogram = SoftHistogram(EDGES, bandwidth, flow=flow)
        contents = histogram(values, weights)
        assert len(contents) == histogram.bins
        assert contents.sum().item() == pytest.approx(total, rel=1e-12)
        assert histogram.hard(values, weights).sum().item() == pytest.approx(total, rel=1e-12)
    kept = SoftHistogram(EDGES, bandwidth, flow="keep")(values, weights)
    dropped = SoftHistogram(EDGES, bandwidth)(values, weights)
    torch.testing.assert_close(kept[1:-1], dropped)


def test_an_event_is_shared_by_distance_and_not_by_centres() -> None:
    # Half of an event at an edge counts on either side, however wide the bins are.
    shares = SoftHistogram([0.0, 0.1, 1.0], 0.01)(torch.tensor([0.1], dtype=torch.float64))
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.5], dtype=torch.float64))


def test_slopes_are_exact() -> None:
    values, weights = events(12)
    histogram = SoftHistogram(EDGES, 0.08, flow="merge")
    inputs = (values.requires_grad_(), weights.requires_grad_())
    assert torch.autograd.gradcheck(histogram, inputs)
    assert torch.autograd.gradcheck(histogram.with_errors, inputs)
    assert torch.autograd.gradgradcheck(histogram, inputs)


@pytest.mark.parametrize("flow", ["drop", "merge", "keep"])
def test_slopes_match_torch_func(flow: Flow) -> None:
    values, weights = events(40)
    histogram = SoftHistogram(EDGES, 0.08, flow=flow)
    outer = torch.linspace(-1.0, 2.0, histogram.bins, dtype=torch.float64)

    def total(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return (outer * histogram(values, weights)).sum()

    theirs = torch.func.grad(total, argnums=(0, 1))(values, weights)
    ours = torch.autograd.grad(
        total(values.requires_grad_(), weights.requires_grad_()), (values, weights)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
    rows = torch.stack([values.detach(), values.detach() + 0.01])
    torch.testing.assert_close(
        torch.func.vmap(histogram)(rows)[1], histogram(rows[1]), rtol=0.0, atol=0.0
    )


def test_the_bandwidth_is_annealed_to_a_floor_and_saved() -> None:
    histogram = SoftHistogram(EDGES, 0.4)
    assert histogram.anneal(0.5) == pytest.approx(0.2)
    assert histogram.anneal(0.5, floor=0.15) == pytest.approx(0.15)
    other = SoftHistogram(EDGES, 1.0)
    other.load_state_dict(histogram.state_dict())
    assert float(other.bandwidth) == pytest.approx(0.15)


def test_an_empty_bin_has_no_uncertainty_and_finite_slopes() -> None:
    values = torch.tensor([0.5, 0.6], dtype=torch.float64, requires_grad=True)
    _, errors = SoftHistogram([0.0, 1.0, 90.0, 91.0], 0.01).with_errors(values)
    errors.sum().backward()
    assert errors[2].item() == 0.0
    assert values.grad is not None and torch.isfinite(values.grad).all()


@pytest.mark.parametrize(
    ("edges", "bandwidth"), [([1.0], 0.1), ([0.0, 0.0], 0.1), ([0.0, 1.0], -1.0)]
)
def test_invalid_histograms_are_rejected(edges: list[float], bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r"edges|bandwidth"):
        SoftHistogram(edges, bandwidth)
