"""What Python's json cannot write by itself."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """NumPy's arrays and numbers, and tensors, as lists and numbers."""
    for name in ("tolist", "item"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    raise TypeError(f"{type(value).__name__} cannot be part of a workspace")
