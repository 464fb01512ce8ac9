"""The reason why JAX compiled a program: the user's line, and the differences to the last program.

JAX's events contain neither. Both are in the frames above the compiler during its call: the jitted
function, the types and names of its arguments, and its caller.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

FRAMES = 80
SHOWN_VALUE = 40
# Packages whose frames are not the user's code.
INNER = ("jax", "jaxlib")


class Call:
    """One call of a jitted function without a compiled program."""

    def __init__(self, frame: FrameType, function: Any, names: dict[str, Any]) -> None:
        params, info = names.get("p"), names.get("jit_info")
        self.function = _reference(function)
        self.op_by_op = bool(
            getattr(function, "_apply_primitive", False)
            or str(getattr(function, "__module__", "")).partition(".")[0] in INNER
        )
        self.source = source(frame)
        self.types = [shape(aval) for aval in getattr(params, "in_avals", ())]
        self.names = [str(name) for name in getattr(params, "arg_names", None) or ()]
        self.tree = str(getattr(params, "in_tree", ""))
        self.statics = _statics(info, names.get("args", ()), names.get("kwargs", {}))


def _reference(function: Any) -> Any:
    """Reference a function by identity without keeping it alive."""
    try:
        return sys.modules["weakref"].ref(function)
    except TypeError:
        return id(function)


def current() -> Call | None:
    """Return the call being compiled; None for programs that are compiled ahead of time."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return None
        if (
            frame.f_code.co_name == "cache_miss"
            and frame.f_globals.get("__name__") == "jax._src.pjit"
        ):
            names = frame.f_locals
            return Call(frame, names.get("fun"), names)
        frame = frame.f_back
    return None


def source(frame: FrameType) -> str | None:
    """Return the innermost line of the user's own files, otherwise of any file outside JAX."""
    first = None
    outer = frame.f_back
    for _ in range(FRAMES):
        if outer is None:
            break
        package = str(outer.f_globals.get("__name__", "")).partition(".")[0]
        file = outer.f_code.co_filename
        if package not in INNER and not file.startswith("<frozen"):
            if not _is_installed(file):
                return _line(outer, file)
            first = first or _line(outer, file)
        outer = outer.f_back
    return first


def _is_installed(file: str) -> bool:
    return "/site-packages/" in file or "/dist-packages/" in file or "/lib/python3" in file


def _line(frame: FrameType, file: str) -> str:
    name = file.rpartition("-packages/")[2] if "-packages/" in file else file.rpartition("/")[2]
    function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    where = "" if function == "<module>" else " (%s)" % function
    return "%s:%d%s" % (name, frame.f_lineno, where)


def shape(aval: Any) -> str:
    """Return ``f32[128,784]``, and whether the type is weak."""
    try:
        text = str(aval.str_short(short_dtypes=True))
    except Exception:  # an abstract value of another kind
        text = str(aval)
    return text + " (weak type)" if getattr(aval, "weak_type", False) else text


def _statics(info: Any, args: Any, kwargs: Any) -> dict[str, str]:
    """Return the values of static arguments, by position or name."""
    found = {}
    for place in getattr(info, "static_argnums", None) or ():
        if -len(args) <= place < len(args):
            found[str(place)] = _value(args[place])
    for name in getattr(info, "static_argnames", None) or ():
        if name in kwargs:
            found[name] = _value(kwargs[name])
    return found


def _value(value: Any) -> str:
    """Describe plain values by their repr, and other values by their identity."""
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= SHOWN_VALUE else text[: SHOWN_VALUE - 1] + "…"
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return "%s at %#x" % (name, id(value))


def cause(before: Call | None, now: Call) -> str | None:
    """Return the reason for a recompilation; None for the first program."""
    if before is None:
        return None
    if before.tree != now.tree:
        return "the structure of its arguments changed"
    for place, (old, new) in enumerate(zip(before.types, now.types)):
        if old != new:
            name = now.names[place] if place < len(now.names) else ""
            return "argument %d%s changed from %s to %s" % (
                place,
                " (%s)" % name if name else "",
                old,
                new,
            )
    for key, value in now.statics.items():
        known = before.statics.get(key)
        if known is not None and known != value:
            if " at 0x" in value:
                kind = value.partition(" at 0x")[0]
                return "static argument %s is another %s" % (key, kind)
            return "static argument %s changed from %s to %s" % (key, known, value)
    if before.function != now.function:
        return "a new function object was jitted, with the same types"
    return "the types are the same: a setting, a captured value or a device changed"
