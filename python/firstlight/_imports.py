"""Time imports by top-level package, and notify adapters when their framework is imported.

The import system holds a lock around each module that is not loaded yet, so watching the lock costs
nothing for the tens of thousands of imports that find their module loaded. The others only matter
if one package begins to load another.

A wrapper around the import function would be simpler, but its frame would lie below everything that
a module does while it is loaded. The interpreter reserves memory for frames in blocks of 16 kB, and
a loop that crosses the end of a block reserves and returns one in every iteration: with a wrapper
the imports of JAX did so 1,900 times more often, which took 25 ms.
"""

import sys
from _thread import get_ident
from time import monotonic_ns

from ._channel import imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType
    from typing import Any

    from ._channel import Channel

# Dozens of small internal modules count as one package.
STANDARD: "frozenset[str]" = getattr(sys, "stdlib_module_names", frozenset())
STANDARD_NAME = "standard library"


# The main thread's watch.
_watch: "_Watch | None" = None


def unwatched(names: "list[str]") -> "list[Any]":
    """Import modules for firstlight's own use; their time belongs to the surrounding phase."""
    if _watch is not None:
        _watch.paused = True
    modules = [__import__(name, fromlist=["*"]) for name in names]
    if _watch is not None:
        _watch.paused = False
    return modules


def install(channel: "Channel", arrivals: "dict[str, Callable[[Channel], None]]") -> None:
    """Replace the import system's lock and its compiler for the life of this process."""
    # The import system itself, under names that type checkers do not know.
    bootstrap: "Any" = sys.modules["_frozen_importlib"]
    external: "Any" = sys.modules["_frozen_importlib_external"]
    compile_source = external.SourceLoader.source_to_code
    global _watch
    _watch = main_watch = _Watch(channel, arrivals)
    main = get_ident()
    others: "dict[int, _Watch]" = {}
    lock: "Any" = bootstrap._ModuleLockManager
    acquire, release = lock.__enter__, lock.__exit__

    class Loading(lock):  # type: ignore[misc]
        """The lock of a module while it is being loaded."""

        def __enter__(self) -> None:
            self._watch = self._package = None
            watch = main_watch
            if get_ident() != main:
                found = others.get(get_ident())
                if found is None:
                    found = others[get_ident()] = _Watch(channel, arrivals)
                watch = found
            if not watch.paused:
                self._watch = watch
                package = self._name.partition(".")[0]
                if package in STANDARD:
                    package = STANDARD_NAME
                # Modules inside the same package do not matter.
                if not watch.stack or watch.stack[-1] != package:
                    self._package = package
                    watch.enter(package)
            try:
                acquire(self)
            except BaseException:  # two threads wait for each other
                self._leave()
                raise

        def __exit__(self, *error: "Any") -> None:
            try:
                release(self, *error)
                name, watch = self._name, self._watch
                if watch is not None and name in arrivals and not error[0]:
                    # In circular imports a module may be requested while it is being loaded.
                    spec = getattr(sys.modules.get(name), "__spec__", None)
                    if spec is not None and not getattr(spec, "_initializing", False):
                        watch.welcome(name)
            finally:
                self._leave()

        def _leave(self) -> None:
            if self._watch is not None and self._package is not None:
                self._watch.leave(self._package)

    def source_to_code(self: "Any", *args: "Any", **kwargs: "Any") -> "Any":
        watch = main_watch if get_ident() == main else others.get(get_ident(), main_watch)
        started = monotonic_ns()
        try:
            return compile_source(self, *args, **kwargs)
        finally:
            watch.sources += 1
            watch.sources_ns += monotonic_ns() - started

    bootstrap._ModuleLockManager = Loading
    external.SourceLoader.source_to_code = _disguised(
        source_to_code, "<frozen importlib._bootstrap_external>"
    )


def _disguised(function: "Any", file: str) -> "FunctionType":
    """Give a wrapper a file name whose frames are removed from the user's tracebacks."""
    function.__code__ = function.__code__.replace(co_filename=file)
    return function  # type: ignore[no-any-return]


class _Watch:
    """The packages that load each other on one thread, innermost last."""

    def __init__(
        self, channel: "Channel", arrivals: "dict[str, Callable[[Channel], None]]"
    ) -> None:
        self.channel = channel
        self.arrivals = arrivals
        self.paused = False
        self.sources = 0
        self.sources_ns = 0
        self.stack: "list[str]" = []
        self._since = 0
        self._segments: "list[tuple[str, int, int]]" = []
        self._entered: "list[int]" = []
        self._cumulative: "dict[str, int]" = {}
        self._sources_before = (0, 0)

    def enter(self, package: str) -> None:
        now = monotonic_ns()
        if self.stack:
            self._segments.append((self.stack[-1], self._since, now))
        else:
            self._sources_before = self.sources, self.sources_ns
            self.channel.begin("import", package, now)
        self._since = now
        self._entered.append(now)
        self.stack.append(package)

    def leave(self, package: str) -> None:
        now = monotonic_ns()
        self.stack.pop()
        entered = self._entered.pop()
        self._segments.append((package, self._since, now))
        self._since = now
        # The time of a package inside itself is already counted.
        if package not in self.stack:
            self._cumulative[package] = self._cumulative.get(package, 0) + now - entered
        if not self.stack:
            self._flush(package, now)

    def welcome(self, name: str) -> None:
        """Let the adapter of a newly loaded framework install itself."""
        channel = self.channel
        self.paused = True
        channel.begin("probe", name)
        try:
            adapter = self.arrivals.pop(name, None)  # another thread may have been faster
            if adapter is not None:
                adapter(channel)
        except Exception as error:  # its framework is not watched, which the record reports
            channel.event("adapter-failed", adapter=name, error=repr(error))
        channel.end("probe", name)
        self.paused = False

    def _flush(self, package: str, now: int) -> None:
        segments, self._segments = self._segments, []
        cumulative, self._cumulative = self._cumulative, {}
        sources, sources_ns = self._sources_before
        lines = imports(
            self.channel.thread(),
            segments,
            cumulative,
            self.sources - sources,
            self.sources_ns - sources_ns,
        )
        self.channel.write(lines + self.channel.ending("import", package, at=now))
