"""Call one function repeatedly, for ``firstlight warm``."""

import importlib
import importlib.util
import os
import sys

import firstlight


def setup(case):
    folder = os.environ["FIRSTLIGHT_STARTED_IN"]
    os.chdir(folder)
    sys.path.insert(0, folder)
    place, _, name = case["function"].rpartition(":")
    module = load(place)
    function = module
    for part in name.split("."):
        function = getattr(function, part)
    arguments = case["args"]
    args = eval("(%s,)" % arguments, dict(vars(module))) if arguments else ()
    return firstlight.Workload(function, args, sync=wait)


def load(place):
    """Import a module by name, or load its file."""
    if not place.endswith(".py"):
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location("measured_file", place)
    if spec is None or not os.path.exists(place):
        raise FileNotFoundError("no file `%s`" % place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def wait(result):
    """Wait for a result that is computed asynchronously."""
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.block_until_ready(result)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
