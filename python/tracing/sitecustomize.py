"""Lets `_firstlight_recording` watch a program that knows nothing of it, then steps aside.

This file is the first ``sitecustomize`` on the path of a process that `firstlight trace --record`
starts. Afterwards ``sys.path``, ``PYTHONPATH`` and ``sys.modules["sitecustomize"]`` are what they
would have been.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))

_folder = os.environ.pop("FIRSTLIGHT_TRACE_FOLDER", None)
_tracing = os.environ.pop("FIRSTLIGHT_TRACE_LEVEL", "none")
if _folder is not None:
    import _firstlight_recording

    _firstlight_recording.watch(_folder, _tracing)

_original = os.environ.pop("FIRSTLIGHT_PYTHONPATH", None)
if _original is None:
    os.environ.pop("PYTHONPATH", None)
else:
    os.environ["PYTHONPATH"] = _original
sys.path[:] = [_entry for _entry in sys.path if _entry != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop("sitecustomize", None)

# Either the user's module, or the ImportError that `site` expects when there is none.
import sitecustomize  # noqa: E402, F401
