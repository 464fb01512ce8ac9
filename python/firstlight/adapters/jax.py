"""JAX: tracing, lowering, compiling and the persistent cache, from its own monitoring events.

The events contain a function's name but no shapes, and there are no events for starting a backend,
writing a cache entry or running a program, so four internal functions are wrapped as well. Each
wrapper is independent: one that a JAX version no longer has is left out, and the events still
report the rest.
"""

from __future__ import annotations

import sys
from _thread import _local
from time import monotonic_ns

from .._channel import guarded
from . import jax_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._channel import Channel

PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
REQUEST = "/jax/compilation_cache/compile_requests_use_cache"
HIT = "/jax/compilation_cache/cache_hits"
# Represents a trace without an event.
EAGER = "eager trace"
SHOWN_ARGUMENTS = 6
KEPT_PROGRAMS = 256


class _Open(_local):
    """The state of one thread: the open events and the program being compiled."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.requested = False
        self.hit = False
        self.function: str | None = None
        self.signature: str | None = None
        self.digest: str | None = None
        self.changed: str | None = None
        self.call: jax_calls.Call | None = None
        self.cause: str | None = None


def install(channel: Channel) -> None:
    jax = sys.modules["jax"]
    channel.event("framework", name="jax", version=getattr(jax, "__version__", "unknown"))
    open_ = _Open()
    _listen(channel, jax.monitoring, open_)
    for wrap in (
        _wrap_compile,
        _wrap_backends,
        _wrap_cache_write,
        _wrap_first_execution,
        _wrap_eager_trace,
    ):
        try:
            wrap(channel, open_)
        except (KeyError, AttributeError) as error:
            channel.event("adapter-failed", adapter="jax", error=describe(error))


def describe(error: Exception) -> str:
    """An internal of JAX that this version no longer has."""
    missing = "no module " if isinstance(error, KeyError) else ""
    return "%s%s" % (missing, error)


def _listen(channel: Channel, monitoring: Any, open_: _Open) -> None:
    def started(event: str, value: float, **metadata: Any) -> None:
        phase = PHASES.get(event)
        if phase is None:
            return
        if phase == "compile":
            open_.requested = open_.hit = False
            open_.signature = open_.digest = open_.changed = open_.cause = open_.call = None
            open_.function = metadata.get("fun_name")
        open_.events.append(event)
        channel.begin(phase, metadata.get("fun_name"))

    def finished(event: str, duration: float, **metadata: Any) -> None:
        phase = PHASES.get(event)
        if phase is None:
            return
        now = monotonic_ns()
        name = metadata.get("fun_name")
        if event in open_.events:
            while open_.events.pop() != event:
                pass
        else:  # older versions only report the end
            channel.begin(phase, name, now - int(duration * 1e9))
        detail = _compile_detail(channel, open_) if phase == "compile" else None
        channel.end(phase, name, detail, now)

    def happened(event: str, **metadata: Any) -> None:
        if event == REQUEST:
            open_.requested = True
        elif event == HIT:
            open_.hit = True

    if hasattr(monitoring, "register_scalar_listener"):
        monitoring.register_scalar_listener(guarded(channel, "jax", started))
    monitoring.register_event_duration_secs_listener(guarded(channel, "jax", finished))
    monitoring.register_event_listener(guarded(channel, "jax", happened))


def _compile_detail(channel: Channel, open_: _Open) -> dict[str, object]:
    directory = _report_cache(channel)
    call = open_.call
    if open_.hit:
        cache = "hit"
    else:
        cache = "miss" if open_.requested and directory else "off"
    return {
        "framework": "jax",
        "signature": open_.signature,
        "digest": open_.digest,
        "changed": open_.changed,
        "cause": open_.cause,
        "source": None if call is None else call.source,
        "op-by-op": None if call is None else call.op_by_op,
        "cache": cache,
    }


_reported: list[object] = []


def _cache_settings() -> tuple[str | None, bool]:
    config = getattr(sys.modules["jax"], "config", None)
    directory: str | None = getattr(config, "jax_compilation_cache_dir", None) or None
    return directory, bool(getattr(config, "jax_enable_compilation_cache", True))


def _report_cache(channel: Channel) -> str | None:
    """Report the directory of JAX's compiled programs whenever it changes."""
    config = getattr(sys.modules["jax"], "config", None)
    directory, enabled = _cache_settings()
    state = [directory, enabled]
    if state != _reported:
        _reported[:] = state
        channel.event(
            "cache-config",
            layer="jax",
            directory=directory,
            enabled=enabled and directory is not None,
            min_compile_seconds=getattr(config, "jax_persistent_cache_min_compile_time_secs", None),
            min_entry_bytes=getattr(config, "jax_persistent_cache_min_entry_size_bytes", None),
        )
    return directory if enabled else None


def _wrap_compile(channel: Channel, open_: _Open) -> None:
    """Read the argument shapes from the module that is passed to the compiler."""
    compiler: Any = sys.modules["jax._src.compiler"]
    original = compiler.compile_or_get_cached
    last: dict[str, list[str]] = {}
    calls: dict[str, jax_calls.Call] = {}
    compiled: list[tuple[str, str | None, Any]] = []

    def compile_or_get_cached(backend: Any, computation: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            types = _argument_types(computation)
            open_.signature, open_.digest = _shown(types), _digest(types)
            if open_.function is not None:
                open_.changed = _difference(last.get(open_.function), types)
                last[open_.function] = types
                open_.call = call = jax_calls.current()
                if call is not None:
                    open_.cause = jax_calls.cause(calls.get(open_.function), call)
                    calls[open_.function] = call
        except Exception:  # shapes are optional; without them the name stands alone
            open_.signature = open_.digest = open_.changed = None
        program = original(backend, computation, *args, **kwargs)
        if channel.keeps_programs and len(compiled) < KEPT_PROGRAMS:
            compiled.append((open_.function or "?", open_.digest, program))
        return program

    def tell(channel: Channel) -> None:
        for function, digest, program in compiled:
            text = "".join(module.to_string() for module in program.hlo_modules())
            channel.event("program-hash", function=function, digest=digest, hash=_digest([text]))

    compiler.compile_or_get_cached = compile_or_get_cached
    channel.programs.append(guarded(channel, "jax", tell))


def _argument_types(module: Any) -> list[str]:
    """Return the argument types of a module's ``main``, as passed to the compiler."""
    for operation in module.body.operations:
        if operation.name.value == "main":
            return [str(kind) for kind in operation.type.inputs]
    raise LookupError("the module has no main")


def _shown(types: list[str]) -> str:
    shown = ", ".join(map(_shape, types[:SHOWN_ARGUMENTS]))
    if len(types) > SHOWN_ARGUMENTS:
        shown += ", … %d more" % (len(types) - SHOWN_ARGUMENTS)
    return shown


def _difference(before: list[str] | None, types: list[str]) -> str | None:
    """Return the arguments that changed since the function's last program."""
    if before is None or len(before) != len(types):
        return None
    return _shown([new for old, new in zip(before, types) if old != new]) or None


def _digest(texts: list[str]) -> str:
    import hashlib

    return hashlib.sha256(",".join(texts).encode()).hexdigest()[:16]


def _shape(kind: str) -> str:
    """Convert ``tensor<128x784xf32>`` to the usual form: ``f32[128,784]``."""
    if not (kind.startswith("tensor<") and kind.endswith(">")):
        return kind
    *sizes, element = kind[len("tensor<") : -1].split("x")
    return "%s[%s]" % (element, ",".join(sizes))


def _wrap_backends(channel: Channel, open_: _Open) -> None:
    bridge: Any = sys.modules["jax._src.xla_bridge"]
    original = bridge.backends

    def backends() -> Any:
        if bridge._backends:
            return original()
        channel.begin("device-init", "jax")
        try:
            return original()
        finally:
            bridge.backends = original
            channel.end("device-init", "jax")
            guarded(channel, "jax", _read_devices)(channel, bridge)

    bridge.backends = backends


def _read_devices(channel: Channel, bridge: Any) -> None:
    devices = [
        device
        for client in bridge._backends.values()
        if client.platform != "cpu"
        for device in client.local_devices()
    ]
    for client in bridge._backends.values():
        kinds = sorted({device.device_kind for device in client.local_devices()})
        channel.event("device", platform=client.platform, devices=kinds)
    if not devices:
        return

    def read() -> list[tuple[str, int | None, int | None]]:
        readings = []
        for device in devices:
            stats = device.memory_stats() or {}
            name = "%s:%d" % (device.platform, device.id)
            readings.append((name, stats.get("bytes_in_use"), stats.get("peak_bytes_in_use")))
        return readings

    channel.memory.devices.append(read)


def _wrap_cache_write(channel: Channel, open_: _Open) -> None:
    compiler: Any = sys.modules["jax._src.compiler"]
    original = compiler._cache_write

    def cache_write(*args: Any, **kwargs: Any) -> Any:
        directory, enabled = _cache_settings()
        if directory is None or not enabled:  # it is called nevertheless, and returns immediately
            return original(*args, **kwargs)
        channel.begin("cache-write", "jax")
        try:
            return original(*args, **kwargs)
        finally:
            channel.end("cache-write", "jax")

    compiler._cache_write = cache_write


def _wrap_first_execution(channel: Channel, open_: _Open) -> None:
    """Report the first run of each program, which may start the device and reserve its memory.

    Later calls of a jitted function do not pass through here; calls of other executables do.
    """
    executor: Any = sys.modules["jax._src.interpreters.pxla"].ExecuteReplicated
    original = executor.__call__
    seen: Any = sys.modules["weakref"].WeakSet()

    def call(self: Any, *args: Any) -> Any:
        if self in seen:
            return original(self, *args)
        seen.add(self)
        name = getattr(self, "name", None)
        channel.begin("first-run", name)
        try:
            return original(self, *args)
        finally:
            channel.end("first-run", name)

    executor.__call__ = call


def _wrap_eager_trace(channel: Channel, open_: _Open) -> None:
    """Report traces outside any jitted function, such as the body of an eager ``lax.scan``."""
    module: Any = sys.modules["jax._src.interpreters.partial_eval"]
    for name in ("trace_to_jaxpr", "trace_to_jaxpr_dynamic"):
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _EagerTrace(channel, open_, original))


class _EagerTrace:
    """Wraps a tracing function and reports its traces; everything else is the original's."""

    def __init__(self, channel: Channel, open_: _Open, original: Any) -> None:
        self._channel = channel
        self._open = open_
        self._original = original
        self._info: Any = getattr(original, "cache_info", None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        open_ = self._open
        if open_.events:
            return self._original(function, *args, **kwargs)
        misses = None if self._info is None else self._info().misses
        began = monotonic_ns()
        open_.events.append(EAGER)
        try:
            return self._original(function, *args, **kwargs)
        finally:
            if open_.events and open_.events[-1] == EAGER:
                open_.events.pop()
            if misses is None or self._info().misses != misses:
                name = _traced_name(function, args)
                self._channel.begin("trace", name, began)
                self._channel.end("trace", name)


def _traced_name(function: Any, args: Any) -> str | None:
    for owner in (function, *args):
        info = getattr(owner, "debug_info", owner)
        name = getattr(info, "func_name", None)
        if isinstance(name, str):
            return name
    return getattr(function, "__name__", None)
