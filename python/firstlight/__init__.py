"""The part of firstlight inside the measured process.

Standard library only, no extension modules, and as few modules of the library as possible: every
measured process pays for each import.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._channel import Channel
    from ._recompile import NoRecompile
    from ._recorder import Recompiled as Recompiled

__all__ = ["Case", "Workload", "assert_no_recompile", "mark"]
__version__ = "0.1.0"

# The only channel of this process; None if firstlight does not measure it.
_current: "Channel | None" = None


def mark(name: str) -> None:
    """Set a named point on the ledger's axis; ``first-result`` ends the time to first result.

    Without firstlight this does nothing, so a script may keep its marks.
    """
    if _current is not None:
        _current.mark(name)


def assert_no_recompile(*functions: str) -> "NoRecompile":
    """Return a ``with`` block in which JAX, torch.compile and Numba must not compile anything.

    If they do, the block raises an ``AssertionError`` with the function, the shapes and the cause.
    With names, only the functions with these names count.
    """
    from ._recompile import NoRecompile

    return NoRecompile(functions)


def __getattr__(name: str) -> "Any":
    if name == "Recompiled":
        from ._recorder import Recompiled

        return Recompiled
    raise AttributeError("module 'firstlight' has no attribute '%s'" % name)


def load_ipython_extension(shell: "Any") -> None:
    """``%load_ext firstlight``: the cell magics ``%%cold`` and ``%%warm``."""
    from . import notebook

    notebook.load(shell)


class Case:
    """The argument of ``setup``: the case's parameters and the arm's options.

    ``case["width"]`` is the parameter of that name, otherwise the option.
    """

    __slots__ = ("arm", "name", "options", "parameters")

    def __init__(
        self, name: str, parameters: "Mapping[str, Any]", arm: str, options: "Mapping[str, Any]"
    ) -> None:
        self.name = name
        self.parameters = dict(parameters)
        self.arm = arm
        self.options = dict(options)

    def __getitem__(self, name: str) -> "Any":
        if name in self.parameters:
            return self.parameters[name]
        if name in self.options:
            return self.options[name]
        known = ", ".join([*self.parameters, *self.options]) or "none"
        raise KeyError(
            "%s: the suite gives case %s and arm %s only: %s" % (name, self.name, self.arm, known)
        )


class Workload:
    """One task, ready to be called: ``step(*args, **kwargs)``, then ``sync`` on its result.

    ``sync`` waits until the result is complete (``jax.block_until_ready``,
    ``torch.cuda.synchronize``); it is part of the timed region. ``check`` checks the result after
    the clock has stopped, and returns False or raises if it is wrong. ``output`` selects the part
    of the result that is compared with other arms. ``warmup`` is called once before the warm
    regime's window instead of ``step``, for workloads that demonstrate their own warm-up.
    ``baseline`` is the same work without the part to be measured. It is called directly after each
    measured call and waits for its own result; the difference of the call is reported as overhead.
    """

    __slots__ = ("args", "baseline", "check", "kwargs", "output", "step", "sync", "warmup")

    def __init__(
        self,
        step: "Callable[..., Any]",
        args: "Sequence[Any]" = (),
        kwargs: "Mapping[str, Any] | None" = None,
        *,
        sync: "Callable[[Any], Any] | None" = None,
        check: "Callable[[Any], Any] | None" = None,
        output: "Callable[[Any], Any] | None" = None,
        warmup: "Callable[[], Any] | None" = None,
        baseline: "Callable[[], Any] | None" = None,
    ) -> None:
        self.step = step
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.sync = sync
        self.check = check
        self.output = output
        self.warmup = warmup
        self.baseline = baseline
