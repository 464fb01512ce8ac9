"""torch.compile: Dynamo, AOTAutograd and Inductor, from the log that PyTorch keeps of them.

Everything that PyTorch times while compiling passes through one logger, whichever module started
it. The names below are the stretches that mean something to a user; the rest falls to the stretch
around it.
"""

from __future__ import annotations

import sys
from _thread import _local

from .._channel import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
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


WHOLE = ("dynamo", "entire_backward_compile")


# The function compiled last on any thread: its backward may be compiled on autograd's thread.
_latest: list[str | None] = [None]


class _Open(_local):
    """The function being compiled on one thread, and the caches' counters when it began."""

    def __init__(self) -> None:
        self.function: str | None = _latest[0]
        self.signature: str | None = None
        self.counts: list[tuple[int, int]] = []


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
            open_.function, open_.signature = _frame_being_compiled()
            _latest[0] = open_.function
        if event_name in WHOLE:
            open_.counts.append(_counts())
        channel.begin(stretch[0], _label(stretch[1], open_.function))

    def finished(event_name: str) -> None:
        stretch = STRETCHES.get(event_name)
        if stretch is not None:
            detail = _detail(open_, event_name) if event_name in WHOLE else None
            channel.end(stretch[0], _label(stretch[1], open_.function), detail)

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


def _label(part: str, function: str | None) -> str:
    return "%s (%s)" % (function, part) if function else part


def _detail(open_: _Open, event_name: str) -> dict[str, object]:
    hits_before, misses_before = open_.counts.pop() if open_.counts else (0, 0)
    hits, misses = _counts()
    if misses > misses_before:
        cache = "miss"
    else:
        cache = "hit" if hits > hits_before else "off"
    backward = event_name != "dynamo"
    return {
        "framework": "torch",
        "function": (open_.function or "?") + (" (backward)" if backward else ""),
        "signature": None if backward else open_.signature,
        "cache": cache,
    }


def _counts() -> tuple[int, int]:
    """Hits and misses of the FX graph cache, which every compiled graph asks."""
    counts = sys.modules["torch._dynamo.utils"].counters["inductor"]
    return counts["fxgraph_cache_hit"], counts["fxgraph_cache_miss"]


def _frame_being_compiled() -> tuple[str | None, str | None]:
    """Dynamo names neither function nor shapes in its log; both are in the caller's locals."""
    frame = sys._getframe()
    for _ in range(FRAMES_TO_SEARCH):
        if frame.f_code.co_name == "_compile":
            names = frame.f_locals
            code, values = names.get("code"), names.get("locals")
            shapes = _shapes(values) if isinstance(values, dict) else None
            return getattr(code, "co_name", None), shapes
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None, None


def _shapes(values: dict[str, Any]) -> str | None:
    # An object of the user's may have a `shape` of its own, and reading it may run his code.
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
