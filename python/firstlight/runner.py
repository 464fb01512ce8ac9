"""The runner: answers the parent's requests about one workload, on the channel of the hooks.

Started as ``python -c "from firstlight.runner import main; main()"`` in the suite's folder. The
requests of a cold start all wait on the descriptor already, so nothing is waited for in between.
"""

import sys
from time import monotonic_ns

import firstlight

from . import _imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ._channel import Channel

TRACEBACK_CHARACTERS = 4000


def main() -> None:
    """Serves requests until there are no more, then ends the process."""
    channel = firstlight._current
    if channel is None:
        sys.exit("firstlight.runner is started by `firstlight run`, not by hand")
    sys.exit(serve(channel))


def serve(channel: "Channel") -> int:
    """Answers request after request; the exit code tells whether all went well."""
    parse = _parser()
    session = _Session(channel)
    try:
        for request in _requests(channel, parse):
            if request["type"] == "finish":
                break
            session.answer(request)
    except BaseException as error:
        [traceback] = _imports.unwatched(["traceback"])
        tail = traceback.format_exc()[-TRACEBACK_CHARACTERS:]
        channel.send("failed", at=monotonic_ns(), error=describe(error), traceback=tail)
        traceback.print_exc()
        return 1
    return 0


def describe(error: BaseException) -> str:
    text = str(error)
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


class _Json:
    """What the interpreter's own JSON scanner wants to know; importing ``json`` costs far more."""

    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float = float
    parse_int = int
    memo: "dict[str, str]" = {}  # noqa: RUF012


def _parser() -> "Callable[[str], Any]":
    try:
        [accelerator] = _imports.unwatched(["_json"])
        scan = accelerator.make_scanner(_Json)
    except (ImportError, AttributeError):
        [json] = _imports.unwatched(["json"])
        return json.loads  # type: ignore[no-any-return]
    return lambda text: scan(text, 0)[0]


def _requests(channel: "Channel", parse: "Callable[[str], Any]") -> "Iterator[dict[str, Any]]":
    buffer = channel.pending
    while True:
        line, newline, rest = buffer.partition(b"\n")
        if newline:
            buffer = rest
            yield parse(line.decode())
            continue
        more = channel.read()
        if not more:
            return
        buffer += more


class _Session:
    """One workload and what has been asked of it."""

    def __init__(self, channel: "Channel") -> None:
        self.channel = channel
        self.workload: "firstlight.Workload | None" = None

    def answer(self, request: "dict[str, Any]") -> None:
        kind = request["type"]
        if kind == "prepare":
            self.prepare(request)
        elif kind == "first":
            self.first()
        elif kind == "iterate":
            self.iterate(request["count"])
        # Requests of a newer minor version are passed over.

    def prepare(self, request: "dict[str, Any]") -> None:
        channel = self.channel
        channel.begin("setup")
        case = firstlight.Case(
            request["case"], request["parameters"], request["arm"], request["options"]
        )
        workload = load(request["workload"]).setup(case)
        if not isinstance(workload, firstlight.Workload):
            raise TypeError(
                "setup returned %s, not a firstlight.Workload" % type(workload).__name__
            )
        self.workload = workload
        channel.end("setup")
        channel.send("ready", at=monotonic_ns())

    def call(self) -> "tuple[Any, int, int]":
        workload = self.workload
        if workload is None:
            raise RuntimeError("asked to run before prepare")
        start = monotonic_ns()
        result = workload.step(*workload.args, **workload.kwargs)
        if workload.sync is not None:
            workload.sync(result)
        return result, start, monotonic_ns()

    def first(self) -> None:
        channel = self.channel
        channel.begin("first-run")
        result, start, end = self.call()
        channel.end("first-run", at=end)
        channel.mark("first-result", end)
        channel.send("iterations", spans=[[start, end]])
        self.check(result)

    def iterate(self, count: int) -> None:
        spans = []
        result = None
        for _ in range(count):
            result, start, end = self.call()
            spans.append((start, end))
        self.channel.send("iterations", spans=spans)
        self.check(result)

    def check(self, result: "Any") -> None:
        """The workload's own judgement of its result, after the clock has stopped."""
        verdict, error = "not-given", None
        if self.workload is not None and self.workload.check is not None:
            verdict = "passed"
            try:
                if self.workload.check(result) is False:
                    verdict, error = "failed", "the workload's check refused its result"
            except Exception as problem:
                verdict, error = "failed", describe(problem)
        self.channel.send("output", check=verdict, error=error, digest=digest(result))


def load(path: str) -> "Any":
    """Imports a workload's file as a module of its own name; its neighbours can be imported too."""
    # As importlib.util does it, without importing importlib.util.
    bootstrap: "Any" = sys.modules["_frozen_importlib"]
    external: "Any" = sys.modules["_frozen_importlib_external"]
    name = path.rpartition("/")[2].partition(".")[0]
    spec = external.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("cannot load the workload `%s`" % path)
    module = bootstrap.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "setup"):
        raise AttributeError("the workload `%s` has no function `setup`" % path)
    return module


def digest(result: "Any") -> "str | None":
    """SHA-256 over types, shapes and bytes of a result's leaves, where they can be read."""
    [hashlib] = _imports.unwatched(["hashlib"])
    hasher = hashlib.sha256()
    try:
        for item in leaves(result):
            leaf = item.detach().cpu().numpy() if hasattr(item, "detach") else item
            if hasattr(leaf, "__array__"):
                import numpy

                array = numpy.ascontiguousarray(leaf)
                hasher.update(("%s%s" % (array.dtype.str, array.shape)).encode())
                hasher.update(array.tobytes())
            else:
                hasher.update(repr(leaf).encode())
            hasher.update(b"\0")
    except Exception:  # a result that cannot be read has no digest
        return None
    return "sha256:%s" % hasher.hexdigest()


def leaves(result: "Any") -> "Iterator[Any]":
    """The leaves of nested containers; of any registered tree where JAX is loaded."""
    jax = sys.modules.get("jax")
    if jax is not None:
        yield from jax.tree_util.tree_leaves(result)
    elif isinstance(result, dict):
        for key in sorted(result, key=str):
            yield str(key)
            yield from leaves(result[key])
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from leaves(item)
    else:
        yield result
