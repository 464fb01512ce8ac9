"""What a workload returned, in a form that can be compared with another arm's: digests and values.

Imported after the clock has stopped, and only where a result is looked at. Large results are read
piece by piece: what this takes would count as the workload's memory.
"""

from __future__ import annotations

import hashlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SHOWN_LEAVES = 64
SHOWN_VALUES = 16
PIECE = 1 << 20


def describe(result: Any) -> tuple[str | None, list[dict[str, object]]]:
    """The digest of all leaves, and the first leaves in numbers.

    The digest is SHA-256 over types, shapes and bytes; there is none where a leaf is something
    whose value cannot be told, such as an object of the workload's own.
    """
    hasher = hashlib.sha256()
    shown: list[dict[str, object]] = []
    readable = True
    for item in leaves(result):
        try:
            leaf = _leaf(item)
        except Exception:  # a leaf that cannot be read has no digest
            leaf = None
        if leaf is None:
            readable = False
            continue
        hasher.update(str(leaf["digest"]).encode())
        if len(shown) < SHOWN_LEAVES:
            shown.append(leaf)
    return ("sha256:%s" % hasher.hexdigest() if readable else None), shown


def _leaf(item: Any) -> dict[str, object] | None:
    value = item.detach().cpu().numpy() if hasattr(item, "detach") else item
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return _plain(value)
    if hasattr(value, "__array__"):
        return _array(value)
    return None


def _plain(value: Any) -> dict[str, object]:
    kind = "python %s" % type(value).__name__
    number = _finite(value) if isinstance(value, (bool, int, float)) else None
    values = [number] if isinstance(value, (bool, int, float)) else []
    digest = hashlib.sha256(("%s %r" % (kind, value)).encode()).hexdigest()[:16]
    return {"dtype": kind, "digest": digest, "shape": [], "norm": number, "values": values}


def _array(value: Any) -> dict[str, object] | None:
    import numpy

    array = numpy.asarray(value)
    if array.dtype.hasobject:
        return None
    flat = numpy.ascontiguousarray(array).reshape(-1)
    hasher = hashlib.sha256(("%s%s" % (array.dtype.str, array.shape)).encode())
    squares, numeric = 0.0, array.dtype.kind in "biuf" or array.dtype.name == "bfloat16"
    real = flat.view(flat.real.dtype) if array.dtype.kind == "c" else flat
    numeric = numeric or array.dtype.kind == "c"
    for start in range(0, flat.size, PIECE):
        hasher.update(flat[start : start + PIECE].tobytes())
    for start in range(0, real.size if numeric else 0, PIECE):
        piece = real[start : start + PIECE].astype(numpy.float64)
        squares += float(numpy.dot(piece, piece))
    values: list[float | None] = []
    norm: float | None = None
    if numeric and real.size:
        step = max(1, real.size // SHOWN_VALUES)
        values = [_finite(one) for one in real[::step][:SHOWN_VALUES].astype(numpy.float64)]
        norm = _finite((squares / real.size) ** 0.5)
    return {
        "dtype": array.dtype.name,
        "digest": hasher.hexdigest()[:16],
        "shape": list(array.shape),
        "norm": norm,
        "values": values,
    }


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if number - number == 0.0 else None


def leaves(result: Any) -> Iterator[Any]:
    """The leaves of nested containers; of any registered tree where JAX is loaded."""
    jax = sys.modules.get("jax")
    if jax is not None:
        yield from jax.tree_util.tree_leaves(result, is_leaf=lambda leaf: leaf is None)
    elif isinstance(result, dict):
        for key in sorted(result, key=str):
            yield from leaves(result[key])
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from leaves(item)
    else:
        yield result
