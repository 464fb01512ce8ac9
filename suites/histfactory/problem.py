"""The cases, their workspaces, and the checks of their results.

An arm is an object with a method for each case that it supports, its name with underscores. The
method prepares the case and returns a function without arguments. Its result is flattened and
compared with the other arms and, for the two workspaces of the suite, with `goldens.json`.
"""

import json
import shutil
from pathlib import Path

import numpy as np

import firstlight

HERE = Path(__file__).parent
RUNNER = "histfactory-runner"


def path(case):
    """Return the case's workspace: a file, or the name of one beside the runner."""
    name = case["workspace"]
    if "/" in name:
        return Path(name)
    runner = shutil.which(RUNNER)
    if runner is None:
        raise FileNotFoundError(f"{RUNNER} is not on the path: run `cargo xtask suite`")
    return Path(runner).parent / f"{name}.json"


def workload(case, arm, sync=None):
    job = case["job"]
    # An arm whose results have another order converts them to the common one.
    output = getattr(arm, "output", flat)
    return firstlight.Workload(
        getattr(arm, job.replace("-", "_"))(), sync=sync, check=check(case), output=output
    )


def flat(result):
    """Return all numbers of a result, one after the other."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    parts = [part.detach() if hasattr(part, "detach") else part for part in parts]
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])


def check(case):
    """Reject a result whose first number differs from the golden one."""
    goldens = json.loads((HERE / "goldens.json").read_text())
    expected = goldens.get(case["workspace"], {}).get(case["job"])
    if expected is None:
        return None

    def close(result):
        found = float(flat(result)[0])
        if not abs(found - expected) <= case["close"] * max(1.0, abs(expected)):
            raise AssertionError(f"{case['job']} gives {found!r}, the golden is {expected!r}")

    return close


def yields(model, sample):
    """Return the nominal yields of a sample in all its channels, in the order of histfactory's
    model.
    """
    from histfactory._native import Objective

    return Objective(model, "nll", [sample]).current


def numbers(text):
    """Parse a list from a parameter of a case."""
    return [float(word) for word in text.split()]
