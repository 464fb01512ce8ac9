"""Loads firstlight's hooks at interpreter start, then steps aside.

This file is the first ``sitecustomize`` on the path of a measured process. It must leave no trace
behind: afterwards ``sys.path``, ``PYTHONPATH`` and ``sys.modules["sitecustomize"]`` are what they
would have been, and the user's own ``sitecustomize`` has run, or is absent as before.

Without a descriptor to report to, it only makes ``firstlight`` importable, for scripts that carry
marks and run as a control.
"""

import os
import sys
import time

_entered = time.monotonic_ns() if hasattr(time, "monotonic_ns") else 0
_here = os.path.dirname(os.path.abspath(__file__))
_package = os.path.join(os.path.dirname(_here), "package")


def _load():
    # Our own byte code lives beside our own files, whatever the user's settings say: otherwise the
    # hooks would be compiled anew in each measured process.
    settings = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = False, None
    sys.path.insert(0, _package)
    try:
        import firstlight  # noqa: F401

        if "FIRSTLIGHT_FD" not in os.environ:
            return
        from firstlight import _hooks
    finally:
        sys.path.remove(_package)
        sys.path_importer_cache.pop(_package, None)
        sys.dont_write_bytecode, sys.pycache_prefix = settings
    _hooks.install(_entered)


if sys.version_info >= (3, 9):  # noqa: UP036
    try:
        _load()
    except Exception:  # the workload runs unhooked; the parent sees that no hello came
        pass

_original = os.environ.pop("FIRSTLIGHT_PYTHONPATH", None)
if _original is None:
    os.environ.pop("PYTHONPATH", None)
else:
    os.environ["PYTHONPATH"] = _original
for _name in ("FIRSTLIGHT_FD", "FIRSTLIGHT_PARENT"):
    os.environ.pop(_name, None)
sys.path[:] = [_entry for _entry in sys.path if _entry != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop("sitecustomize", None)

# Either the user's module, or the ImportError that `site` expects when there is none.
import sitecustomize  # noqa: E402, F401
