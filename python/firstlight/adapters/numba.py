"""Numba: compilations from its event system, and time saved and spent by its on-disk cache.

Numba only reports a function when it actually compiles it, so the cache itself is wrapped too.
"""

from __future__ import annotations

import sys
from time import monotonic_ns

from .._channel import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._channel import Channel

# The smallest number of hexadecimal digits of an address.
ADDRESS = 6


def install(channel: Channel) -> None:
    numba = sys.modules["numba"]
    channel.event("framework", name="numba", version=getattr(numba, "__version__", "unknown"))
    _listen(channel)
    _wrap_cache(channel)


def _listen(channel: Channel) -> None:
    event = sys.modules["numba.core.event"]

    class Compilations(event.Listener):  # type: ignore[name-defined, misc]
        def on_start(self, event: Any) -> None:
            started(event)

        def on_end(self, event: Any) -> None:
            finished(event)

    @_guarded(channel)
    def started(event: Any) -> None:
        channel.begin("compile", _name(event.data["dispatcher"]))

    @_guarded(channel)
    def finished(event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        cache = "miss" if _caches(dispatcher) else "off"
        detail = _detail(dispatcher, event.data.get("args", ()), cache)
        channel.end("compile", _name(dispatcher), detail)

    event.register("numba:compile", Compilations())


def _wrap_cache(channel: Channel) -> None:
    cache: Any = getattr(sys.modules["numba.core.caching"], "Cache", None)
    if cache is None:
        return
    load, save = cache.load_overload, cache.save_overload

    @_guarded(channel)
    def asked(cache: Any, sig: Any, began: int, served: bool) -> None:
        name = _name(cache)
        if served:
            # Reported like a framework whose compilation was served by a cache.
            channel.begin("compile", name, began)
            channel.end("compile", name, _detail(cache, sig, "hit"))
        else:
            channel.begin("cache-read", name, began)
            channel.end("cache-read", name)

    def load_overload(self: Any, sig: Any, target_context: Any) -> Any:
        began = monotonic_ns()
        found = load(self, sig, target_context)
        asked(self, sig, began, found is not None)
        return found

    def save_overload(self: Any, sig: Any, data: Any) -> Any:
        channel.begin("cache-write", _name(self))
        try:
            return save(self, sig, data)
        finally:
            channel.end("cache-write", _name(self))

    cache.load_overload = load_overload
    cache.save_overload = save_overload


def _guarded(channel: Channel) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda function: guarded(channel, "numba", function)


def _detail(owner: Any, args: Any, cache: str) -> dict[str, object]:
    signature = ", ".join(_without_addresses(str(kind)) for kind in getattr(args, "args", args))
    name = _name(owner)
    before, _last[name] = _last.get(name), signature
    cause = None
    if before is not None and before != signature:
        cause = "its argument types changed from (%s) to (%s)" % (before, signature)
    return {
        "framework": "numba",
        "signature": signature,
        "cause": cause,
        "source": _source(owner),
        "cache": cache,
    }


# The argument types of each function's last program.
_last: dict[str, str] = {}


def _without_addresses(kind: str) -> str:
    """Remove addresses: a jitclass is named with its address, which differs between processes."""
    parts = kind.split("#")
    kept = [parts[0]]
    for part in parts[1:]:
        rest = part.lstrip("0123456789abcdef")
        kept.append(rest if len(part) - len(rest) >= ADDRESS else "#" + part)
    return "".join(kept)


def _source(owner: Any) -> str | None:
    code = getattr(_function(owner), "__code__", None)
    file = str(getattr(code, "co_filename", "")).rpartition("/")[2]
    return "%s:%d" % (file, code.co_firstlineno) if code is not None and file else None


def _name(owner: Any) -> str:
    return str(getattr(_function(owner), "__qualname__", "?")).rpartition("<locals>.")[2]


def _function(owner: Any) -> Any:
    """Return the function of a dispatcher or of a cache."""
    return getattr(owner, "py_func", None) or getattr(owner, "_py_func", None)


def _caches(dispatcher: Any) -> bool:
    return type(getattr(dispatcher, "_cache", None)).__name__ not in ("NullCache", "NoneType")
