"""Records the steps of a JAX program that knows nothing of it, then steps aside.

This file is the first ``sitecustomize`` on the path of a process that `firstlight trace --record`
starts. A step is what the program marks with ``jax.profiler.StepTraceAnnotation``: its times are
taken in every run, and from the first one on the profiler runs, at the level that was asked for or
not at all. Profiling that the program starts itself is left out: one profiler can run at a time,
and the untraced run is to be untraced.
"""

import importlib.machinery
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_TARGET = "jax._src.profiler"


class _Recorder:
    """Times steps, and starts and stops the profiler around them."""

    def __init__(self, folder, tracing):
        self.folder, self.tracing = folder, tracing
        self.steps = []
        self.started = False

    def patch(self, module):
        import time

        start_trace, stop_trace = module.start_trace, module.stop_trace
        recorder = self

        class StepTraceAnnotation(module.StepTraceAnnotation):
            def __init__(self, *args, **kwargs):
                # An annotation that is made before the profiler runs is not recorded.
                recorder.begin(module, start_trace, stop_trace)
                super().__init__(*args, **kwargs)

            def __enter__(self):
                self._firstlight_start = time.monotonic_ns()
                return super().__enter__()

            def __exit__(self, *error):
                result = super().__exit__(*error)
                recorder.steps.append((self._firstlight_start, time.monotonic_ns()))
                return result

        module.StepTraceAnnotation = StepTraceAnnotation
        module.start_trace = lambda *_, **__: None
        module.stop_trace = lambda *_, **__: None

    def begin(self, module, start_trace, stop_trace):
        if self.started:
            return
        self.started = True
        import atexit

        atexit.register(self.finish, stop_trace)
        if self.tracing == "none":
            return
        options = module.ProfileOptions()
        options.host_tracer_level = 2
        options.python_tracer_level = 1 if self.tracing == "python" else 0
        start_trace(os.path.join(self.folder, "profile"), profiler_options=options)

    def finish(self, stop_trace):
        import json

        if self.tracing != "none":
            stop_trace()
        with open(os.path.join(self.folder, "steps.json"), "w", encoding="utf-8") as file:
            json.dump([[start, end] for start, end in self.steps], file)


class _Finder:
    """Lets the import system find jax's profiler as usual, and patches it once it is loaded."""

    def __init__(self, recorder):
        self.recorder = recorder

    def find_spec(self, name, path=None, target=None):
        if name != _TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute, recorder = spec.loader.exec_module, self.recorder

            def exec_module(module):
                execute(module)
                recorder.patch(module)

            spec.loader.exec_module = exec_module
        return spec


_folder = os.environ.pop("FIRSTLIGHT_TRACE_FOLDER", None)
_tracing = os.environ.pop("FIRSTLIGHT_TRACE_LEVEL", "none")
if _folder is not None:
    sys.meta_path.insert(0, _Finder(_Recorder(_folder, _tracing)))

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
