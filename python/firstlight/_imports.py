"""Times imports by top-level package, and tells adapters when their framework has arrived.

``_find_and_load`` of the import system is called once for each module that is not loaded yet, so
replacing it costs nothing for the tens of thousands of imports that find their module present.
"""

from __future__ import annotations

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import sys
from _thread import get_ident
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FunctionType
    from typing import Any

    from ._channel import Channel

# Dozens of small modules that nobody chose one by one count as one package.
STANDARD: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())


def install(channel: Channel, arrivals: Mapping[str, Callable[[Channel], None]]) -> None:
    """Replaces the import system's two functions for the life of this process."""
    watch = _Watch(channel, arrivals, bootstrap._find_and_load)
    compile_source = external.SourceLoader.source_to_code

    def find_and_load(name: str, import_: Any) -> Any:
        if watch.paused or get_ident() != watch.main:
            return watch.original(name, import_)
        watch.enter(name)
        try:
            module = watch.original(name, import_)
        except BaseException:
            watch.leave()
            raise
        if name in arrivals:
            watch.welcome(name)
        watch.leave()
        return module

    def source_to_code(self: Any, *args: Any, **kwargs: Any) -> Any:
        started = monotonic_ns()
        try:
            return compile_source(self, *args, **kwargs)
        finally:
            watch.sources += 1
            watch.sources_ns += monotonic_ns() - started

    bootstrap._find_and_load = _disguised(find_and_load, bootstrap)
    external.SourceLoader.source_to_code = _disguised(source_to_code, external)


def _disguised(function: Any, module: Any) -> FunctionType:
    """Gives a wrapper the file name that the interpreter cuts out of the user's tracebacks."""
    name = "<frozen importlib._bootstrap%s>" % module.__name__[len("_frozen_importlib") :]
    function.__code__ = function.__code__.replace(co_filename=name)
    return function


class _Watch:
    """The stack of running imports on the main thread."""

    def __init__(
        self,
        channel: Channel,
        arrivals: Mapping[str, Callable[[Channel], None]],
        original: Callable[[str, Any], Any],
    ) -> None:
        self.channel = channel
        self.arrivals = arrivals
        self.original = original
        self.main = get_ident()
        self.paused = False
        self.sources = 0
        self.sources_ns = 0
        self._stack: list[str] = []
        self._since = 0
        self._segments: list[tuple[str, int, int]] = []
        self._entered: dict[str, int] = {}
        self._depth: dict[str, int] = {}
        self._cumulative: dict[str, int] = {}
        self._sources_before = (0, 0)

    def enter(self, name: str) -> None:
        package = name.partition(".")[0]
        if package in STANDARD:
            package = "standard library"
        stack = self._stack
        now = monotonic_ns()
        if not stack:
            self._sources_before = self.sources, self.sources_ns
            self.channel.begin("import", package, now)
            self._since = now
        elif stack[-1] != package:
            self._segments.append((stack[-1], self._since, now))
            self._since = now
        depth = self._depth.get(package, 0)
        if not depth:
            self._entered[package] = now
        self._depth[package] = depth + 1
        stack.append(package)

    def leave(self) -> None:
        stack = self._stack
        package = stack.pop()
        now = monotonic_ns()
        if not stack or stack[-1] != package:
            self._segments.append((package, self._since, now))
            self._since = now
        depth = self._depth[package] - 1
        self._depth[package] = depth
        if not depth:
            spent = now - self._entered[package]
            self._cumulative[package] = self._cumulative.get(package, 0) + spent
        if not stack:
            self._flush(package, now)

    def welcome(self, name: str) -> None:
        """Lets the adapter of a framework that has just been loaded install itself."""
        self.paused = True
        self.channel.begin("probe", name)
        try:
            self.arrivals[name](self.channel)
        except Exception as error:  # its framework goes unwatched, and the record says so
            self.channel.event("adapter-failed", adapter=name, error=repr(error))
        self.channel.end("probe", name)
        self.paused = False

    def _flush(self, package: str, now: int) -> None:
        segments, self._segments = self._segments, []
        cumulative, self._cumulative = self._cumulative, {}
        sources, sources_ns = self._sources_before
        self.channel.imports(
            segments, cumulative, self.sources - sources, self.sources_ns - sources_ns
        )
        self.channel.end("import", package, at=now)
