"""What a workload's author uses: ``mark`` in a script, ``Workload`` in a suite."""

from __future__ import annotations

from . import _state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def mark(name: str) -> None:
    """Puts a named point on the ledger's axis; ``first-result`` ends the time to first result.

    Outside firstlight this does nothing, so a script may keep its marks.
    """
    channel = _state.channel
    if channel is not None:
        channel.mark(name)


class Workload:
    """One job, ready to be called: ``step(*args, **kwargs)``, then ``sync`` on what it returned.

    ``sync`` waits until the result is really there (``jax.block_until_ready``,
    ``torch.cuda.synchronize``); it is part of the timed region. ``check`` looks at the result after
    the clock has stopped, and returns false or raises when it is wrong.
    """

    __slots__ = ("args", "check", "kwargs", "step", "sync")

    def __init__(
        self,
        step: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        sync: Callable[[Any], Any] | None = None,
        check: Callable[[Any], Any] | None = None,
    ) -> None:
        self.step = step
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.sync = sync
        self.check = check
