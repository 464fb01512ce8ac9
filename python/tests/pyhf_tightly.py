"""CLs as defined by pyhf, with minima that do not depend on where a minimiser stops.

pyhf's likelihood, differentiated by JAX; Newton's method on bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from pyhf.pdf import Model
from scipy.stats import norm

Floats = NDArray[np.float64]


class NotTight(Exception):
    """Newton's method did not reach a minimum."""


class Minimiser:
    """Minimise twice the negative log-likelihood of one model on any data."""

    def __init__(self, model: Model) -> None:
        def twice_nll(pars: Any, data: Any) -> Any:
            return -2 * model.logpdf(pars, data)[0]

        self.model = model
        self.value: Callable[..., Any] = jax.jit(twice_nll)
        self.gradient: Callable[..., Any] = jax.jit(jax.grad(twice_nll))
        self.hessian: Callable[..., Any] = jax.jit(jax.hessian(twice_nll))

    def minimum(
        self, data: Any, poi: float | None = None, starts: Sequence[Floats] = ()
    ) -> tuple[Floats, float]:
        """Return the lowest minimum found from pyhf's start and from others."""
        first = np.array(self.model.config.suggested_init())
        found = [self._minimum(data, poi, start) for start in (first, *starts)]
        return min(found, key=lambda minimum: minimum[1])

    def _minimum(self, data: Any, poi: float | None, start: Floats) -> tuple[Floats, float]:
        config = self.model.config
        pars = start.copy()
        low, high = np.array(config.suggested_bounds()).T
        held = np.array(config.suggested_fixed())
        if poi is not None:
            pars[config.poi_index], held[config.poi_index] = poi, True
        damping, value = 1e-3, float(self.value(pars, data))
        for _ in range(300):
            slope = np.array(self.gradient(pars, data))
            outwards = ((pars <= low) & (slope > 0)) | ((pars >= high) & (slope < 0))
            free = ~held & ~outwards
            if np.all(np.abs(slope[free]) < 1e-8):
                return pars, value
            curvature = np.array(self.hessian(pars, data))[np.ix_(free, free)]
            if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(curvature))):
                raise NotTight  # differentiating 0 ln 0
            pars, value, damping = self._step(data, pars, value, slope, curvature, free, damping)
        raise NotTight

    def _step(
        self,
        data: Any,
        pars: Floats,
        value: float,
        slope: Floats,
        curvature: Floats,
        free: NDArray[np.bool_],
        damping: float,
    ) -> tuple[Floats, float, float]:
        low, high = np.array(self.model.config.suggested_bounds()).T
        scale = np.diag(np.abs(np.diag(curvature)) + 1e-8)
        while damping < 1e10:
            step = np.zeros_like(pars)
            step[free] = -np.linalg.lstsq(curvature + damping * scale, slope[free], rcond=None)[0]
            moved = np.clip(pars + step, low, high)
            there = float(self.value(moved, data))
            if np.isfinite(there) and there <= value + 1e-12 * abs(value):
                return moved, there, damping / 10
            damping = max(10 * damping, 1e-10)
        raise NotTight


def cls(model: Model, data: Sequence[float], poi: float) -> tuple[float, float]:
    """Observed CLs and its expected median with q-tilde."""
    minimiser, observed = Minimiser(model), jnp.asarray(data)
    at_poi, conditional = minimiser.minimum(observed, poi)
    best, lowest = minimiser.minimum(observed)
    background, _ = minimiser.minimum(observed, 0.0)
    q = 0.0 if best[model.config.poi_index] > poi else max(conditional - lowest, 0.0)
    asimov = jnp.asarray(model.expected_data(jnp.asarray(background)))
    # With the tested value there may be a second minimum, far from pyhf's start.
    tested = minimiser.minimum(asimov, poi, [background, at_poi])[1]
    q_asimov = max(tested - minimiser.minimum(asimov, None, [background])[1], 0.0)
    root, root_asimov = np.sqrt(q), np.sqrt(q_asimov)
    position = root - root_asimov
    if root > root_asimov > 0:
        position = (q - q_asimov) / (2 * root_asimov)

    def ratio(position: float) -> float:
        return float(norm.sf(position + root_asimov) / norm.sf(position))

    return ratio(position), ratio(0.0)
