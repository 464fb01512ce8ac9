"""``assert_no_recompile``: a block in which JAX, torch.compile and Numba must not compile
anything.
"""

from __future__ import annotations

import sys

from ._recorder import Recompiled, Recording, counted, listed, programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

HINT = "hint: call the function once before the block with every shape that the block uses"


class NoRecompile:
    """Raises ``Recompiled`` at the end of the block if something was compiled in it."""

    def __init__(self, functions: tuple[str, ...]) -> None:
        self.functions = functions

    def __enter__(self) -> NoRecompile:
        self._graphs = _graphs()
        self._recording = Recording()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        self._recording.stop()
        arrived = self._recording.recorder.attach()
        if kind is not None:
            return
        found = programs(self._recording.messages())
        if self.functions:
            found = [program for program in found if program.function in self.functions]
        if found:
            what = "%s compiled in this block" % _were(len(found))
            raise Recompiled("%s\n\n%s\n\n%s" % (what, listed(found), HINT), found)
        self._see_arrivals(arrived)

    def _see_arrivals(self, arrived: list[str]) -> None:
        """Report frameworks that compiled before their adapter was attached, which was not
        recorded.
        """
        __tracebackhide__ = True
        failures = self._recording.recorder.failures
        if failures:
            raise RuntimeError("cannot see what is compiled: %s" % "; ".join(failures))
        graphs = _graphs() - self._graphs
        if "torch._dynamo.utils" in arrived and graphs:
            what = "%s of torch.compile, its first in this process" % counted(graphs, "graph")
            raise Recompiled("compiled in this block: %s\n\n%s" % (what, HINT), [])
        # torch itself compiles nothing; its compiler is a separate module.
        unseen = [name for name in arrived if not name.startswith("torch")]
        if unseen:
            raise RuntimeError(
                "%s was imported in this block, so what it compiled was not recorded\n\n"
                "hint: import it, and call the function once, before the block"
                % " and ".join(unseen)
            )


def _were(count: int) -> str:
    return "%s %s" % (counted(count, "program"), "was" if count == 1 else "were")


def _graphs() -> int:
    """Return the number of graphs that Dynamo has captured in this process."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])
