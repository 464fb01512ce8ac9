"""A differentiable histogram."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

Flow = Literal["drop", "merge", "keep"]

# The side of an edge on which an event lies, as a number from -1, above it, to 1, below it: erf of
# the distance. There is a row for each edge; `whole`: bins reach to infinity at both ends.


def _contents(sides: Tensor, weights: Tensor | None, whole: bool) -> Tensor:
    weighted = sides if weights is None else sides * weights
    # Summed over the events first: one number for each edge. Bins are differences of large sums,
    # hence in float64 whatever the dtype of the events.
    sums = weighted.sum(-1, dtype=torch.float64)
    if whole:
        if weights is None:
            total = sums.new_full((1,), sides.shape[1])
        else:
            total = weights.sum(dtype=torch.float64).reshape(1)
        sums = torch.cat([-total, sums, total])
    return (0.5 * (sums[1:] - sums[:-1])).to(weighted.dtype)


def _shares(sides: Tensor, whole: bool) -> Tensor:
    """The fraction of each event in each bin."""
    if whole:
        one = sides.new_ones(1, sides.shape[1])
        sides = torch.cat([-one, sides, one])
    return 0.5 * (sides[1:] - sides[:-1])


class _Contents(torch.autograd.Function):
    """The contents of the bins, with slopes in a few operations.

    Consists of differentiable parts, so it can be differentiated twice.
    """

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, weights: Tensor | None, edges: Tensor, scale: float, whole: bool
    ) -> Tensor:
        ctx.save_for_backward(values, weights, edges)
        ctx.scale, ctx.whole = scale, whole
        return _contents(torch.erf((edges - values) * scale), weights, whole)

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Any:
        values, weights, edges = ctx.saved_tensors
        outer = 0.5 * outer.to(values.dtype)
        # An event below an edge counts in the bin before it, and no longer in the bin after it.
        of_edges = outer if ctx.whole else nn.functional.pad(outer, (1, 1))
        of_edges = (of_edges[:-1] - of_edges[1:]).unsqueeze(1)
        distances = (edges - values) * ctx.scale
        of_values = of_weights = None
        if ctx.needs_input_grad[0]:
            # Far away it would be a denormal number, which is slow on processors.
            densities = torch.exp((distances * distances).clamp(max=80.0).neg())
            of_values = (densities * of_edges).sum(0) * (-2 / math.sqrt(math.pi) * ctx.scale)
            of_values = of_values if weights is None else of_values * weights
        if ctx.needs_input_grad[1]:
            of_weights = (torch.erf(distances) * of_edges).sum(0)
            of_weights = of_weights + (outer[0] + outer[-1]) if ctx.whole else of_weights
        return of_values, of_weights, None, None, None


class SoftHistogram(nn.Module):
    """Bin contents as integrals of a smooth distribution around each value.

    An event at x of weight w adds w·[F((b−x)/h) − F((a−x)/h)] to the bin from a to b, F being the
    normal distribution function and h the bandwidth. The part that leaves one bin enters the next,
    whatever their widths. As h goes to zero, the contents become those of the plain histogram.

    ``flow`` sets the treatment of events beyond the edges: ``"drop"`` leaves them out, ``"merge"``
    adds them to the first and the last bin, ``"keep"`` adds a bin at both ends.
    """

    edges: Tensor
    bandwidth: Tensor

    def __init__(self, edges: Any, bandwidth: float, *, flow: Flow = "drop") -> None:
        super().__init__()
        edges = torch.as_tensor(edges, dtype=torch.float64).clone()
        if edges.ndim != 1 or len(edges) < 2 or not bool((edges[1:] > edges[:-1]).all()):
            raise ValueError("edges must be at least two numbers in ascending order")
        if flow not in ("drop", "merge", "keep"):
            raise ValueError(f'flow is {flow!r}\nhint: take one of "drop", "merge", "keep"')
        self.flow = flow
        self.register_buffer("edges", edges)
        self.register_buffer("bandwidth", torch.zeros((), dtype=torch.float64))
        self.set_bandwidth(bandwidth)

    def set_bandwidth(self, bandwidth: float) -> None:
        """Set another bandwidth; zero is the plain histogram, which has no slopes."""
        if not bandwidth >= 0.0:
            raise ValueError(f"the bandwidth is {bandwidth}")
        self.bandwidth.fill_(bandwidth)

    def anneal(self, factor: float, floor: float = 0.0) -> float:
        """Reduce the bandwidth by a factor, not below a floor; returns it."""
        self.set_bandwidth(max(float(self.bandwidth) * factor, floor))
        return float(self.bandwidth)

    @property
    def bins(self) -> int:
        return len(self.edges) - 1 + (2 if self.flow == "keep" else 0)

    def forward(self, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the contents of the bins; ``values`` and ``weights`` have one number for each
        event.
        """
        contents, _ = self._fill(values, weights)
        return contents

    def with_squares(self, values: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the contents and the sums of squared weights: the variances of the contents."""
        return self._fill(values, weights, squares=True)

    def with_errors(self, values: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the contents and their statistical uncertainties, as for a staterror."""
        contents, squares = self._fill(values, weights, squares=True)
        # An empty bin has no uncertainty; the square root would have no slope there.
        positive = squares > 0
        roots = torch.where(positive, squares, torch.ones_like(squares)).sqrt()
        return contents, torch.where(positive, roots, torch.zeros_like(roots))

    def hard(self, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the plain histogram with the same edges and flow."""
        contents, _ = self._fill(values, weights, hard=True)
        return contents

    def _fill(
        self,
        values: Tensor,
        weights: Tensor | None,
        *,
        squares: bool = False,
        hard: bool = False,
    ) -> tuple[Tensor, Tensor]:
        values = values.reshape(-1)
        weights = None if weights is None else weights.reshape(-1)
        edges = self.edges.to(values).unsqueeze(1)
        bandwidth = 0.0 if hard else float(self.bandwidth)
        whole = self.flow != "drop"
        if bandwidth == 0.0:
            # The last bin includes both its edges, as in NumPy.
            below = torch.cat([values < edges[:-1], values <= edges[-1:]])
            sides = 2 * below.to(values.dtype) - 1
            sides = sides[1:-1] if self.flow == "merge" else sides
        else:
            # With "merge" the outer edges are at infinity.
            edges = edges[1:-1] if self.flow == "merge" else edges
            scale = math.sqrt(0.5) / bandwidth
            if not (squares or torch._C._are_functorch_transforms_active()):
                return _Contents.apply(values, weights, edges, scale, whole), values.new_zeros(0)
            sides = torch.erf((edges - values) * scale)
        contents = _contents(sides, weights, whole)
        if not squares:
            return contents, contents.new_zeros(0)
        shares = _shares(sides, whole)
        shares = shares if weights is None else shares * weights
        return contents, (shares * shares).sum(-1)

    def extra_repr(self) -> str:
        return f"bins={self.bins}, bandwidth={float(self.bandwidth):g}, flow={self.flow!r}"
