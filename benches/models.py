"""The quickstart's training steps, for scripts that measure firstlight itself."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suites" / "quickstart"))

import in_jax

import firstlight

PARAMETERS = {
    "mlp": {"width": 256, "batch": 128},
    "transformer": {"layers": 2, "width": 128, "length": 64, "batch": 4},
}


def workload(model: str) -> firstlight.Workload:
    """Return the step of one model with its arguments, jitted and not yet compiled."""
    return in_jax.setup(firstlight.Case(model, PARAMETERS[model], "jax", {}))
