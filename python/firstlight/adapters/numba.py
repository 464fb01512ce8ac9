"""Numba: compilations from its event system, and what its on-disk cache spared or took.

Numba tells of a function only when it really compiles it, so the cache itself is wrapped too.
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
        detail = _detail(event.data.get("args", ()), cache)
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
            # As a framework that compiles and is served instead.
            channel.begin("compile", name, began)
            channel.end("compile", name, _detail(sig, "hit"))
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


def _detail(args: Any, cache: str) -> dict[str, object]:
    return {
        "framework": "numba",
        "signature": ", ".join(map(str, getattr(args, "args", args))),
        "cache": cache,
    }


def _name(owner: Any) -> str:
    """The function of a dispatcher or of a cache."""
    function = getattr(owner, "py_func", None) or getattr(owner, "_py_func", None)
    return getattr(function, "__qualname__", "?")


def _caches(dispatcher: Any) -> bool:
    return type(getattr(dispatcher, "_cache", None)).__name__ not in ("NullCache", "NoneType")
