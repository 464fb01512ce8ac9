"""Let `_firstlight_recording` watch an unchanged program, then remove this file's traces.

This file is the first ``sitecustomize`` on the path of a process started by `firstlight trace
--record`. Afterwards ``sys.path``, ``PYTHONPATH`` and ``sys.modules["sitecustomize"]`` are the same
as without it.
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

# Either the user's module, or the ImportError that `site` expects if there is none.
import sitecustomize  # noqa: E402, F401
