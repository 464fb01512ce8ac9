"""The jobs, the workspaces they are done on, and what their results must be.

An arm is an object with a method for each job that it can do, its name with underscores. The method
prepares the job and returns a function without arguments; what that returns is flattened and
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
    """The case's workspace: a file, or a name that lies beside the runner."""
    name = case["workspace"]
    if "/" in name:
        return Path(name)
    runner = shutil.which(RUNNER)
    if runner is None:
        raise FileNotFoundError(f"{RUNNER} is not on the path: run `cargo xtask suite`")
    return Path(runner).parent / f"{name}.json"


def workload(case, arm, sync=None):
    job = case["job"]
    # An arm whose results come in an order of its own puts them into everybody's.
    output = getattr(arm, "output", flat)
    return firstlight.Workload(
        getattr(arm, job.replace("-", "_"))(), sync=sync, check=check(case), output=output
    )


def flat(result):
    """All numbers of a result, one after the other."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    parts = [part.detach() if hasattr(part, "detach") else part for part in parts]
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])


def check(case):
    """Refuses a result whose first number is not the golden one."""
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
    """The nominal yields of a sample in all its channels, as histfactory's model has them."""
    from histfactory._native import Objective

    return Objective(model, "nll", [sample]).current


def numbers(text):
    """A list, as a parameter of a case has it."""
    return [float(word) for word in text.split()]
