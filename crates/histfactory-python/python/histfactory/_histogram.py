"""A histogram that can be differentiated."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

Flow = Literal["drop", "merge", "keep"]


class SoftHistogram(nn.Module):
    """Bin contents as integrals of a smooth distribution around each value.

    An event at x of weight w puts w·[F((b−x)/h) − F((a−x)/h)] into the bin from a to b, F being the
    normal distribution function and h the bandwidth. What leaves one bin enters the next, whatever
    their widths, and as h goes to zero the contents become those of the plain histogram.

    ``flow`` says what becomes of events beyond the edges: ``"drop"`` leaves them out, ``"merge"``
    adds them to the first and the last bin, ``"keep"`` gives them bins of their own at both ends.
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
        """Another bandwidth; zero is the plain histogram, which has no slopes."""
        if not bandwidth >= 0.0:
            raise ValueError(f"the bandwidth is {bandwidth}")
        self.bandwidth.fill_(bandwidth)

    def anneal(self, factor: float, floor: float = 0.0) -> float:
        """Makes the bandwidth smaller by a factor, not below a floor; returns it."""
        self.set_bandwidth(max(float(self.bandwidth) * factor, floor))
        return float(self.bandwidth)

    @property
    def bins(self) -> int:
        return len(self.edges) - 1 + (2 if self.flow == "keep" else 0)

    def forward(self, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """The contents of the bins; ``values`` and ``weights`` have one number for each event."""
        contents, _ = self._fill(values, weights)
        return contents

    def with_squares(self, values: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The contents, and the sums of squared weights: the variances of the contents."""
        return self._fill(values, weights, squares=True)

    def with_errors(self, values: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The contents and their statistical uncertainties, as a staterror has them."""
        contents, squares = self._fill(values, weights, squares=True)
        # A bin that holds nothing is certain of it; its root would have no slope.
        positive = squares > 0
        roots = torch.where(positive, squares, torch.ones_like(squares)).sqrt()
        return contents, torch.where(positive, roots, torch.zeros_like(roots))

    def hard(self, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """The plain histogram with the same edges and flow."""
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
        shares = self._shares(values, hard=hard or float(self.bandwidth) == 0.0)
        if weights is not None:
            shares = shares * weights.reshape(-1, 1)
        return shares.sum(0), (shares * shares).sum(0) if squares else shares.new_zeros(0)

    def _shares(self, values: Tensor, *, hard: bool) -> Tensor:
        """Which part of each event lies in which bin."""
        values = values.reshape(-1, 1)
        edges = self.edges.to(values)
        if hard:
            # The last bin has both its edges, as in NumPy.
            below = torch.cat([values < edges[:-1], values <= edges[-1:]], dim=1).to(values.dtype)
        else:
            below = torch.special.ndtr((edges - values) / self.bandwidth.to(values))
        if self.flow == "drop":
            return below[:, 1:] - below[:, :-1]
        zero, one = torch.zeros_like(below[:, :1]), torch.ones_like(below[:, :1])
        if self.flow == "merge":
            whole = torch.cat([zero, below[:, 1:-1], one], dim=1)
        else:
            whole = torch.cat([zero, below, one], dim=1)
        return whole[:, 1:] - whole[:, :-1]

    def extra_repr(self) -> str:
        return f"bins={self.bins}, bandwidth={float(self.bandwidth):g}, flow={self.flow!r}"
