"""Common parts of the losses for PyTorch and JAX: names of yields, and cached objectives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from histfactory._native import Model, Objective

Loss = TypeVar("Loss")


def names_of(yields: Sequence[str]) -> tuple[str, ...]:
    """Check that the names are a list and not a single name."""
    if isinstance(yields, str):
        raise TypeError(f'yields is {yields!r}\nhint: yields=["{yields}"]')
    return tuple(yields)


def in_order(names: tuple[str, ...], given: tuple[Any, ...], what: str) -> Sequence[Any]:
    """Return the arguments of a loss, one for each name, given by name or by position."""
    if len(given) == 1 and isinstance(given[0], Mapping):
        by_name = given[0]
        if set(by_name) != set(names):
            raise ValueError(f"yields of {sorted(by_name)} given, the loss takes {list(names)}")
        return [by_name[name] for name in names]
    if len(given) != len(names):
        raise TypeError(f"{len(given)} {what} given, the loss takes {len(names)}: {list(names)}")
    return given


def made_once(loss: Callable[[Objective, tuple[str, ...]], Loss]) -> Callable[..., Loss]:
    """Cache a function that creates a loss, so that equal arguments return the same one."""

    @functools.lru_cache(maxsize=64)
    def make(
        model: Model,
        quantity: str,
        names: tuple[str, ...],
        data: str,
        mu: float,
        level: float,
        templates: str,
    ) -> Loss:
        objective = Objective(
            model, quantity, list(names), data=data, mu=mu, level=level, templates=templates
        )
        return loss(objective, names)

    return make
