"""Describe all leaves of a workload's result, so that it can be compared with another arm's.

A small array is described by all its elements, a larger one by a sketch: its elements are
distributed over blocks and summed there, each with a random sign (Charikar, Chen and Farach-Colton,
Finding frequent items in data streams, 2002). One element that differs shows in its block, however
many others agree; elements that all differ by a little show in all blocks. Block and sign only
depend on the element's place, so every process and every language computes the same.

Imported after the clock has stopped, and only if a result is compared. Large results are read piece
by piece, because this memory would count as the workload's.
"""

from __future__ import annotations

import hashlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# The largest number of listed leaves; further ones count as unread.
MOST_LEAVES = 16384
# Arrays of up to this many numbers are described by all elements.
SMALL = 64
# The number of elements read at once, and the period of their blocks and signs.
PIECE = 1 << 18
# The shift of blocks and signs from one piece to the next.
SHIFT = 65537


def describe(result: Any) -> tuple[str | None, list[dict[str, object]], int]:
    """Return the digest of all leaves, the leaves one by one, and the number of unreadable leaves.

    The digest is SHA-256 over places, types, shapes and bytes. It is None if a leaf's value cannot
    be read, such as an object of the workload's own.
    """
    hasher = hashlib.sha256()
    described: list[dict[str, object]] = []
    unread, readable = 0, True
    found = list(leaves(result))
    for path, item in found:
        try:
            leaf = _leaf(item, blocks(len(found)))
        except Exception:  # a leaf that cannot be read has no digest
            leaf = None
        if leaf is None:
            readable = False
        else:
            hasher.update(("%s %s " % (path, leaf["digest"])).encode())
        if leaf is None or len(described) == MOST_LEAVES:
            unread += 1
        else:
            leaf["path"] = path
            described.append(leaf)
    return ("sha256:%s" % hasher.hexdigest() if readable else None), described, unread


def blocks(leaves: int) -> int:
    """Return the number of sums that represent a large leaf: fewer if there are many leaves."""
    return 64 if leaves <= 256 else 16


def _leaf(item: Any, count: int) -> dict[str, object] | None:
    if hasattr(item, "detach"):
        return _tensor(item, count)
    if item is None or isinstance(item, (bool, int, float, complex, str, bytes)):
        return _plain(item)
    dtype = getattr(item, "dtype", None)
    if str(dtype).startswith("key<"):
        item = sys.modules["jax"].random.key_data(item)
    if hasattr(item, "__array__"):
        import numpy

        array = numpy.asarray(item)
        return None if array.dtype.hasobject else _array(array, array, array.dtype.name, count)
    return None


def _plain(value: Any) -> dict[str, object]:
    kind = "python %s" % type(value).__name__
    digest = hashlib.sha256(("%s %r" % (kind, value)).encode()).hexdigest()[:16]
    leaf: dict[str, object] = {"dtype": kind, "digest": digest, "shape": [], "values": []}
    if isinstance(value, (bool, int, float)):
        numbers = [float(value)]
    elif isinstance(value, complex):
        numbers = [value.real, value.imag]
    else:
        return {**leaf, "norm": None}
    finite = [number for number in numbers if number - number == 0.0]
    squares = sum(number * number for number in finite)
    leaf["norm"] = (squares / len(finite)) ** 0.5 if finite else None
    leaf["values"] = numbers
    if len(finite) < len(numbers):
        codes = bytes(_code(number) for number in numbers)
        leaf["not-finite"] = _not_finite(codes.count(1), codes.count(2), codes.count(3), codes)
    return leaf


def _code(number: float) -> int:
    if number - number == 0.0:
        return 0
    if number > 0.0:
        return 2
    return 3 if number < 0.0 else 1


def _not_finite(nan: int, positive: int, negative: int, codes: bytes) -> dict[str, object]:
    digest = hashlib.sha256(b"0:" + codes).hexdigest()[:16]
    return {"nan": nan, "positive": positive, "negative": negative, "digest": digest}


def _tensor(tensor: Any, count: int) -> dict[str, object] | None:
    """Read a tensor of PyTorch; types that NumPy does not have are converted to wider ones."""
    torch = sys.modules["torch"]
    tensor = tensor.detach().cpu().contiguous()
    if tensor.is_sparse or tensor.is_quantized:
        return None
    name = str(tensor.dtype).rpartition(".")[2]
    try:
        array = tensor.numpy()
    except TypeError:
        raw = tensor.reshape(-1).view(torch.uint8).numpy()
        return _array(tensor.to(torch.float32).numpy(), raw, name, count)
    return _array(array, array, name, count)


def _array(array: Any, raw: Any, name: str, count: int) -> dict[str, object]:
    """Return an array for the given bytes."""
    import numpy

    hasher = hashlib.sha256(("%s%s" % (name, array.shape)).encode())
    bytes_ = numpy.ascontiguousarray(raw).reshape(-1)
    for start in range(0, bytes_.size, PIECE):
        hasher.update(bytes_[start : start + PIECE].tobytes())
    leaf: dict[str, object] = {
        "dtype": name,
        "digest": hasher.hexdigest()[:16],
        "shape": list(array.shape),
        "norm": None,
        "values": [],
    }
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if array.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if array.dtype.kind in "biufc" or "float" in name or "int" in name:
        leaf.update(_numbers(flat, count, array.dtype.itemsize > 4))
    return leaf


def _numbers(flat: Any, count: int, exact: bool) -> dict[str, object]:
    import numpy

    squares, finite = 0.0, 0
    kinds = [0, 0, 0]
    hasher = hashlib.sha256()
    sketch = _Sketch(count) if flat.size > SMALL else None
    for start in range(0, flat.size, PIECE):
        piece = flat[start : start + PIECE].astype(numpy.float64)
        good = numpy.isfinite(piece)
        if not good.all():
            codes = numpy.where(good, 0, numpy.where(numpy.isnan(piece), 1, 3 - (piece > 0)))
            for place in range(3):
                kinds[place] += int((codes == place + 1).sum())
            hasher.update(b"%d:" % start + codes.astype(numpy.uint8).tobytes())
            piece[~good] = 0.0
        finite += int(good.sum())
        squares += float(numpy.dot(piece, piece))
        if sketch is not None:
            sketch.add(piece, start // PIECE)
    summary: dict[str, object] = {"norm": (squares / finite) ** 0.5 if finite else None}
    if sketch is None:
        values = flat.astype(numpy.float64)
        summary["values"] = [_short(float(value), exact) for value in values]
    else:
        summary["sketch"] = {"sums": [_short(value, exact) for value in sketch.sums.tolist()]}
    if any(kinds):
        summary["not-finite"] = {
            "nan": kinds[0],
            "positive": kinds[1],
            "negative": kinds[2],
            "digest": hasher.hexdigest()[:16],
        }
    return summary


def _short(value: float, exact: bool) -> float:
    """Round to nine digits, which are more than a single-precision number has."""
    return value if exact or value - value != 0.0 else float("%.9g" % value)


class _Sketch:
    """Signed sums of elements, assigned to blocks by position."""

    _dealt: Any = None

    def __init__(self, count: int) -> None:
        import numpy

        self.sums = numpy.zeros(count)
        if _Sketch._dealt is None:
            # SplitMix64 of each place (Steele, Lea and Flood, 2014): its highest bit is the sign.
            z = (numpy.arange(PIECE, dtype=numpy.uint64) + numpy.uint64(1)) * numpy.uint64(
                0x9E3779B97F4A7C15
            )
            z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
            z ^= z >> numpy.uint64(31)
            signs = 1.0 - 2.0 * (z >> numpy.uint64(63)).astype(numpy.float64)
            places = (z & numpy.uint64(0xFFFF)).astype(numpy.intp)
            # Stored twice, so that a shifted piece is contiguous.
            _Sketch._dealt = numpy.concatenate([signs, signs]), numpy.concatenate([places, places])

    def add(self, piece: Any, number: int) -> None:
        import numpy

        signs, places = _Sketch._dealt
        shift = number * SHIFT % PIECE
        until = shift + piece.size
        count = self.sums.size
        blocks = places[shift:until] & (count - 1)
        self.sums += numpy.bincount(blocks, piece * signs[shift:until], count)


def leaves(result: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of nested containers with their positions; of any pytree if JAX is loaded."""
    jax = sys.modules.get("jax")
    if jax is None:
        yield from _nested("", result)
        return
    found = jax.tree_util.tree_flatten_with_path(result, is_leaf=lambda leaf: leaf is None)[0]
    for keys, leaf in found:
        yield "".join(map(_key, keys)), leaf


def _key(key: Any) -> str:
    for name, form in (("key", "[%r]"), ("idx", "[%d]"), ("name", ".%s")):
        if hasattr(key, name):
            return str(form % getattr(key, name))
    return "[%s]" % key


def _nested(path: str, result: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(result, dict):
        for key in sorted(result, key=str):
            yield from _nested("%s[%r]" % (path, key), result[key])
    elif isinstance(result, (list, tuple)):
        names = getattr(result, "_fields", None)
        for place, item in enumerate(result):
            key = ".%s" % names[place] if names else "[%d]" % place
            yield from _nested(path + key, item)
    else:
        yield path, result
