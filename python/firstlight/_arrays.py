"""Count the parameters and other arrays that a workload's step uses, by element type.

They are searched in the step's arguments, in the closures of its functions, and in objects of the
suite's own classes. Only types and shapes are read, so nothing is copied and no device is waited
for. Imported after the clock has stopped.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import firstlight

    Counts = dict[str, list[dict[str, object]]]

# The largest number of objects to search. If a step reaches more, a count would be incomplete, so
# there is none.
MOST_OBJECTS = 20_000

_PLAIN = (bool, int, float, complex, str, bytes, type, type(sys), type(None))


def count(workload: firstlight.Workload) -> Counts:
    """Return ``parameters`` and ``inputs`` by element type; empty if nothing is known."""
    try:
        found = _Search()
        complete = found.look_at([workload.step, workload.args, workload.kwargs])
    except Exception:  # an uncountable array must not reject a workload
        return {}
    counts = {"parameters": _by_type(found.parameters), "inputs": _by_type(found.inputs)}
    return {name: rows for name, rows in counts.items() if rows and complete}


class _Search:
    """The reachable arrays, each once."""

    def __init__(self) -> None:
        self.parameters: list[Any] = []
        self.inputs: list[Any] = []
        # The objects themselves are kept, because an identity is unique only while its object
        # lives.
        self.seen: dict[int, object] = {}
        self.kinds = tuple(_array_kinds())

    def look_at(self, objects: list[Any]) -> bool:
        """Return whether everything was searched."""
        stack = list(objects)
        while stack:
            item = stack.pop()
            if isinstance(item, _PLAIN) or id(item) in self.seen:
                continue
            if len(self.seen) == MOST_OBJECTS:
                return False
            self.seen[id(item)] = item
            if isinstance(item, self.kinds):
                (self.parameters if _is_trained(item) else self.inputs).append(item)
                continue
            for array in _parameters(item):
                if id(array) not in self.seen:
                    self.seen[id(array)] = array
                    self.parameters.append(array)
            stack.extend(_inside(item))
        return True


def _array_kinds() -> Iterator[type]:
    for module, name in (("numpy", "ndarray"), ("jax", "Array"), ("torch", "Tensor")):
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type):
            yield kind


def _is_trained(array: Any) -> bool:
    """Return whether a tensor has a gradient and was not computed by an operator."""
    return getattr(array, "requires_grad", False) is True and array.is_leaf is True


def _parameters(item: Any) -> list[Any]:
    """Return the parameters of a model, as reported by its framework."""
    if _is_a(item, "torch.nn", "Module"):
        return list(item.parameters())
    jax = sys.modules.get("jax")
    if jax is None:
        return []
    if _is_a(item, "flax.nnx", "Module"):
        nnx = sys.modules["flax.nnx"]
        return list(jax.tree_util.tree_leaves(nnx.state(item, nnx.Param)))
    if _is_a(item, "equinox", "Module"):
        leaves = jax.tree_util.tree_leaves(item)
        return [leaf for leaf in leaves if sys.modules["equinox"].is_inexact_array(leaf)]
    return []


def _is_a(item: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(item, kind)


def _inside(item: Any) -> Iterator[Any]:
    """Iterate over the objects inside an object."""
    if isinstance(item, dict):
        yield from item.values()
        return
    if isinstance(item, (list, tuple, set, frozenset)):
        yield from item
        return
    if _is_a(item, "torch.nn", "Module"):
        yield from item.buffers()
        return
    for cell in getattr(item, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value yet
            continue
    for name in ("__defaults__", "__kwdefaults__", "__self__", "__func__", "__wrapped__"):
        yield getattr(item, name, None)
    if type(item).__module__ == "functools":
        for name in ("func", "args", "keywords"):
            yield getattr(item, name, None)
    jax = sys.modules.get("jax")
    if jax is not None:
        # A leaf contains only itself, and has been seen.
        yield from jax.tree_util.tree_leaves(item)
    if _is_of_the_suite(type(item)):
        yield from getattr(item, "__dict__", {}).values()


def _is_of_the_suite(kind: type) -> bool:
    """Objects of libraries are skipped, because they may hold anything, such as tables and
    caches.
    """
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None or "/site-packages/" in file or "/dist-packages/" in file:
        return False
    return not file.startswith(os.__file__.rpartition("/")[0] + "/")


def _by_type(arrays: list[Any]) -> list[dict[str, object]]:
    counts: dict[str, list[int]] = {}
    for array in arrays:
        elements = 1
        for length in array.shape:
            elements *= int(length)
        known = counts.setdefault(_type(array), [0, 0])
        known[0] += 1
        known[1] += elements
    return [
        {"dtype": dtype, "arrays": number, "elements": elements}
        for dtype, (number, elements) in sorted(counts.items())
    ]


def _type(array: Any) -> str:
    name = getattr(array.dtype, "name", None)
    return str(array.dtype).rpartition(".")[2] if name is None else str(name)
