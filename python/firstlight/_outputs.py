"""What a workload returned, in a form that can be compared with another arm's: digest and values.

Imported after the clock has stopped, and only where a result is looked at.
"""

from __future__ import annotations

import hashlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SHOWN_LEAVES = 16
SHOWN_VALUES = 16


def describe(result: Any) -> tuple[str | None, list[dict[str, object]]]:
    """The digest of all leaves, and the first leaves in numbers; nothing where they are unreadable.

    The digest is SHA-256 over types, shapes and bytes.
    """
    hasher = hashlib.sha256()
    shown: list[dict[str, object]] = []
    try:
        for item in leaves(result):
            leaf = item.detach().cpu().numpy() if hasattr(item, "detach") else item
            if hasattr(leaf, "__array__"):
                _take_array(leaf, hasher, shown)
            else:
                hasher.update(repr(leaf).encode())
                if isinstance(leaf, (int, float)) and len(shown) < SHOWN_LEAVES:
                    value = _finite(leaf)
                    kind = "python %s" % type(leaf).__name__
                    shown.append({"dtype": kind, "shape": [], "norm": value, "values": [value]})
            hasher.update(b"\0")
    except Exception:  # a result that cannot be read has no digest
        return None, []
    return "sha256:%s" % hasher.hexdigest(), shown


def _take_array(leaf: Any, hasher: Any, shown: list[dict[str, object]]) -> None:
    import numpy

    array = numpy.asarray(leaf)
    hasher.update(("%s%s" % (array.dtype.str, array.shape)).encode())
    hasher.update(array.tobytes())
    if len(shown) < SHOWN_LEAVES:
        shown.append(_numbers(numpy, array))


def _numbers(numpy: Any, array: Any) -> dict[str, object]:
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    values: list[float | None] = []
    norm: float | None = None
    if flat.size and (flat.dtype.kind in "biuf" or flat.dtype.name in ("bfloat16", "float16")):
        step = max(1, flat.size // SHOWN_VALUES)
        values = [_finite(value) for value in flat[::step][:SHOWN_VALUES].astype(numpy.float64)]
        norm = _finite(numpy.sqrt(numpy.mean(numpy.square(flat, dtype=numpy.float64))))
    return {"dtype": array.dtype.name, "shape": list(array.shape), "norm": norm, "values": values}


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if number - number == 0.0 else None


def leaves(result: Any) -> Iterator[Any]:
    """The leaves of nested containers; of any registered tree where JAX is loaded."""
    jax = sys.modules.get("jax")
    if jax is not None:
        yield from jax.tree_util.tree_leaves(result)
    elif isinstance(result, dict):
        for key in sorted(result, key=str):
            yield str(key)
            yield from leaves(result[key])
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from leaves(item)
    else:
        yield result
