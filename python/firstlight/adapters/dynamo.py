"""torch.compile: Dynamo, AOTAutograd and Inductor, from PyTorch's own log.

Every time that PyTorch records while compiling passes through one logger, whichever module started
it. The names below are the intervals that are meaningful to a user; other time belongs to the
surrounding interval.
"""

from __future__ import annotations

import sys
from _thread import _local

from .._channel import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._channel import Channel

# event name -> (phase, the part of torch.compile it belongs to)
STRETCHES = {
    "dynamo": ("trace", "dynamo"),
    "entire_backward_compile": ("lower", "aot-autograd"),
    "backend_compile": ("lower", "inductor"),
    "create_aot_dispatcher_function": ("lower", "aot-autograd"),
    "inductor_compile": ("lower", "inductor"),
    "inductor_codecache_torch_key": ("cache-read", "inductor"),
    "CacheBase.get_system.triton_key": ("cache-read", "inductor"),
    "AOTAutogradCache.inductor_load": ("cache-read", "inductor"),
    "TritonBundler.read_and_emit": ("cache-read", "inductor"),
    "async_compile.wait": ("compile", "inductor"),
    "compile_file": ("compile", "inductor"),
    "async_compile.precompile": ("compile", "inductor"),
    "CachingAutotuner.benchmark_all_configs": ("compile", "autotune"),
    "autotune_select_algorithm": ("compile", "autotune"),
}
FRAMES_TO_SEARCH = 12
SHOWN_ARGUMENTS = 6
LONGEST_REASON = 160
REASONS = "get_and_maybe_log_recompilation_reasons"


WHOLE = ("dynamo", "entire_backward_compile")


class _Frame:
    """A function that Dynamo compiles: its name, line, tensors and the cause of a recompilation."""

    def __init__(self, function: str, source: str | None, signature: str | None) -> None:
        self.function = function
        self.source = source
        self.signature = signature
        self.cause: str | None = None


# The last compilation on any thread: its backward pass may be compiled on autograd's thread.
_latest: list[_Frame | None] = [None]


class _Open(_local):
    """The function being compiled on one thread, and the caches' counters at its start."""

    def __init__(self) -> None:
        self.frame: _Frame | None = _latest[0]
        self.counts: list[tuple[int, int]] = []

    def label(self, part: str) -> str:
        return "%s (%s)" % (self.frame.function, part) if self.frame else part


def install(channel: Channel) -> None:
    utils = sys.modules["torch._dynamo.utils"]
    logger: Any = getattr(utils, "ChromiumEventLogger", None)
    if logger is None:
        raise AttributeError("torch._dynamo.utils has no ChromiumEventLogger")
    log_start, log_end = logger.log_event_start, logger.log_event_end
    open_ = _Open()

    def started(event_name: str) -> None:
        stretch = STRETCHES.get(event_name)
        if stretch is None:
            return
        if event_name == "dynamo":
            _wrap_reasons(channel, open_)
            open_.frame = _latest[0] = _frame_being_compiled()
        if event_name in WHOLE:
            open_.counts.append(_counts())
        channel.begin(stretch[0], open_.label(stretch[1]))

    def finished(event_name: str) -> None:
        stretch = STRETCHES.get(event_name)
        if stretch is not None:
            detail = _detail(open_, event_name) if event_name in WHOLE else None
            channel.end(stretch[0], open_.label(stretch[1]), detail)

    started, finished = guarded(channel, "torch", started), guarded(channel, "torch", finished)

    def log_event_start(self: Any, event_name: str, *args: Any, **kwargs: Any) -> Any:
        started(event_name)
        return log_start(self, event_name, *args, **kwargs)

    def log_event_end(self: Any, event_name: str, *args: Any, **kwargs: Any) -> Any:
        result = log_end(self, event_name, *args, **kwargs)
        finished(event_name)
        return result

    logger.log_event_start = log_event_start
    logger.log_event_end = log_event_end
    channel.farewells.append(_report_caches)


def _wrap_reasons(channel: Channel, open_: _Open) -> None:
    """Dynamo computes the cause of a recompilation just after it has started it."""
    module: Any = sys.modules.get("torch._dynamo.convert_frame")
    original = getattr(module, REASONS, None)
    if original is None or hasattr(original, "by_firstlight"):
        return

    @_guarded(channel)
    def keep(reasons: Any) -> None:
        if reasons and open_.frame is not None:
            open_.frame.cause = _reason(str(reasons[0]))

    def reasons_of(*args: Any, **kwargs: Any) -> Any:
        reasons = original(*args, **kwargs)
        keep(reasons)
        return reasons

    reasons_of.by_firstlight = True  # type: ignore[attr-defined]
    setattr(module, REASONS, reasons_of)


def _guarded(channel: Channel) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda function: guarded(channel, "torch", function)


def _reason(text: str) -> str:
    """Return ``0/0: tensor 'x' size mismatch at index 0. expected 32, actual 48`` without its
    number.
    """
    head, colon, rest = text.partition(": ")
    reason = rest if colon and "/" in head and " " not in head else text
    reason = " ".join(reason.split())
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


def _detail(open_: _Open, event_name: str) -> dict[str, object]:
    hits_before, misses_before = open_.counts.pop() if open_.counts else (0, 0)
    hits, misses = _counts()
    if misses > misses_before:
        cache = "miss"
    else:
        cache = "hit" if hits > hits_before else "off"
    backward = event_name != "dynamo"
    frame = open_.frame or _Frame("?", None, None)
    return {
        "framework": "torch",
        "function": frame.function + (" (backward)" if backward else ""),
        "signature": None if backward else frame.signature,
        "cause": None if backward else frame.cause,
        "source": frame.source,
        "cache": cache,
    }


def _counts() -> tuple[int, int]:
    """Return hits and misses of the FX graph cache, which every compiled graph queries."""
    counts = sys.modules["torch._dynamo.utils"].counters["inductor"]
    return counts["fxgraph_cache_hit"], counts["fxgraph_cache_miss"]


def _frame_being_compiled() -> _Frame | None:
    """Find the frame being compiled: Dynamo's log contains neither function nor shapes, but the
    caller's locals do.
    """
    frame = sys._getframe()
    for _ in range(FRAMES_TO_SEARCH):
        if frame.f_code.co_name == "_compile":
            names = frame.f_locals
            code, values = names.get("code"), names.get("locals")
            values = values if isinstance(values, dict) else {}
            return _Frame(_name(code, values), _source(code), _shapes(values))
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None


def _name(code: Any, values: dict[str, Any]) -> str:
    """Return ``Encoder.forward`` for a module's method, whichever class defines it."""
    name = str(getattr(code, "co_qualname", None) or getattr(code, "co_name", "?"))
    owner = values.get("self")
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    if module is not None and isinstance(owner, module):
        return "%s.%s" % (type(owner).__qualname__, name.rpartition(".")[2])
    return name.rpartition("<locals>.")[2]


def _source(code: Any) -> str | None:
    file = str(getattr(code, "co_filename", ""))
    name = file.rpartition("-packages/")[2] if "-packages/" in file else file.rpartition("/")[2]
    return "%s:%d" % (name, code.co_firstlineno) if name else None


def _shapes(values: dict[str, Any]) -> str | None:
    # A user's object may have a `shape` property, and reading it may run user code.
    kind = sys.modules["torch"].Tensor
    tensors = [value for value in values.values() if isinstance(value, kind)]
    if not tensors:
        return None
    shown = [
        "%s[%s]" % (str(tensor.dtype).rpartition(".")[2], ",".join(map(str, tensor.shape)))
        for tensor in tensors[:SHOWN_ARGUMENTS]
    ]
    if len(tensors) > SHOWN_ARGUMENTS:
        shown.append("… %d more" % (len(tensors) - SHOWN_ARGUMENTS))
    return ", ".join(shown)


def _report_caches(channel: Channel) -> None:
    counters = sys.modules["torch._dynamo.utils"].counters
    for layer, group, prefix in (
        ("inductor-fx-graph", "inductor", "fxgraph_cache_"),
        ("inductor-aot-autograd", "aot_autograd", "autograd_cache_"),
    ):
        counts = counters[group]
        hits, misses = counts[prefix + "hit"], counts[prefix + "miss"]
        if hits or misses:
            channel.event("cache-counts", layer=layer, hits=hits, misses=misses)
