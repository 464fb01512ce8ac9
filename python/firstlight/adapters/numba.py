"""Numba: compilations, and the functions that its on-disk cache spared, from its event system."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._channel import Channel


def install(channel: Channel) -> None:
    numba = sys.modules["numba"]
    event = sys.modules["numba.core.event"]
    channel.event("framework", name="numba", version=getattr(numba, "__version__", "unknown"))

    class Compilations(event.Listener):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            self.hits: list[int] = []

        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            self.hits.append(_hits(dispatcher))
            channel.begin("compile", _name(dispatcher))

        def on_end(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            before = self.hits.pop() if self.hits else 0
            if _hits(dispatcher) > before:
                cache = "hit"
            else:
                cache = "miss" if _caches(dispatcher) else "off"
            detail = {
                "framework": "numba",
                "signature": ", ".join(map(str, event.data.get("args", ()))),
                "cache": cache,
            }
            channel.end("compile", _name(dispatcher), detail)

    event.register("numba:compile", Compilations())


def _name(dispatcher: Any) -> str:
    return getattr(getattr(dispatcher, "py_func", None), "__qualname__", "?")


def _hits(dispatcher: Any) -> int:
    return sum(getattr(dispatcher, "_cache_hits", {}).values())


def _caches(dispatcher: Any) -> bool:
    return type(getattr(dispatcher, "_cache", None)).__name__ not in ("NullCache", "NoneType")
