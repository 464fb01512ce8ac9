"""Conversions for values that Python's json cannot write."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Convert NumPy's arrays and numbers, and tensors, to lists and numbers."""
    for name in ("tolist", "item"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    raise TypeError(f"{type(value).__name__} cannot be part of a workspace")
