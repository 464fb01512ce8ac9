"""Record the steps of a JAX or PyTorch program, at the requested level or without a profiler.

The times of steps are recorded in every run. From the first step on, the framework's own profiler
runs, unless the run is untraced. Profiling by the program itself is suppressed: only one profiler
can run at a time, and an untraced run must be untraced.

- JAX: a step is marked by the program with ``jax.profiler.StepTraceAnnotation``.
- JAX also explains why it traces a function again (``jax_explain_cache_misses``). The explanations
  go to ``explanations.jsonl``, and so does a call of ``jax.clear_caches``.
- PyTorch: a step ends with ``step()`` of the program's own ``torch.profiler.profile``. A program
  without one has a step from the end of one ``optimizer.step()`` to the end of the next. Its log of
  compilations (``TORCH_TRACE``) goes to ``torch-trace``. Where the program has a log of its own, a
  copy of it does.
"""

import importlib.machinery
import os
import sys
import time

_recorder = None


def watch(folder, tracing):
    """Watch the frameworks as they are imported."""
    global _recorder
    _recorder = _Recorder(folder, tracing)
    if tracing != "none":
        os.environ.setdefault("TORCH_TRACE", os.path.join(folder, "torch-trace"))
        _recorder.patches.update(_Explanations(folder).patches())
    sys.meta_path.insert(0, _Finder(_recorder))


def marker():
    """Return a function that marks one step, for our own programs: ``with mark(number): …``."""
    if "jax" in sys.modules:
        import jax

        return lambda number: jax.profiler.StepTraceAnnotation("step", step_num=number)
    if "torch" in sys.modules:
        return lambda _: _recorder.torch
    raise SystemExit("neither JAX nor PyTorch is used here, and nothing else can be recorded")


def folder():
    """Return the folder for this run's files."""
    return _recorder.folder


class _Recorder:
    """The steps' times, and the profiler around them."""

    def __init__(self, folder, tracing):
        self.folder, self.tracing = folder, tracing
        self.steps = []
        self.stop = None
        self.torch = None
        # By the name of the module that is patched once it is loaded.
        self.patches = {
            "jax._src.profiler": self.patch_jax,
            "torch.profiler.profiler": self.patch_torch,
            "torch.optim.optimizer": self.patch_optimizer,
        }

    def begin(self, start):
        """Start the profiler, once; ``start`` returns the function that stops it."""
        if self.stop is not None:
            return
        import atexit

        self.stop = start() if self.tracing != "none" else lambda: None
        atexit.register(self.finish)

    def finish(self):
        import json

        self.stop()
        self.copy_torch_log()
        with open(os.path.join(self.folder, "steps.json"), "w", encoding="utf-8") as file:
            json.dump([[start, end] for start, end in self.steps], file)

    def copy_torch_log(self):
        """Copy the log if the program's own ``TORCH_TRACE`` names another folder."""
        own = os.path.join(self.folder, "torch-trace")
        if self.tracing == "none" or "torch" not in sys.modules:
            return
        import logging
        import shutil

        for handler in logging.getLogger("torch.__trace").handlers:
            # Some versions open the file by its descriptor.
            stream = getattr(handler, "stream", None)
            path = getattr(handler, "_stream_path", None) or getattr(stream, "name", None)
            if isinstance(path, str) and os.path.dirname(os.path.abspath(path)) != own:
                handler.flush()
                os.makedirs(own, exist_ok=True)
                shutil.copy(path, own)

    def patch_jax(self, module):
        start_trace, stop_trace = module.start_trace, module.stop_trace
        recorder = self

        def start():
            options = module.ProfileOptions()
            options.host_tracer_level = 2
            options.python_tracer_level = 1 if recorder.tracing == "python" else 0
            start_trace(os.path.join(recorder.folder, "profile"), profiler_options=options)
            return stop_trace

        class StepTraceAnnotation(module.StepTraceAnnotation):
            def __init__(self, *args, **kwargs):
                # An annotation made before the profiler runs is not recorded.
                recorder.begin(start)
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

    def patch_torch(self, module):
        self.torch = torch = _Torch(self, module._KinetoProfile)

        class profile(_Silent):
            def start(self):
                torch.boundary("profile")

            def step(self):
                torch.boundary("profile")

            def stop(self):
                torch.abandon()

            def __enter__(self):
                self.start()
                return self

            def __exit__(self, *error):
                self.stop()

        module.profile = profile

    def patch_optimizer(self, module):
        if hasattr(module, "register_optimizer_step_post_hook"):
            module.register_optimizer_step_post_hook(
                lambda *_, **__: self.torch and self.torch.boundary("optimizer")
            )


class _Explanations:
    """Write JAX's explanations of repeated tracing to a file instead of printing them."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "explanations.jsonl")
        # Whether the program requested the messages itself.
        self.asked = False

    def patches(self):
        return {
            "jax._src.config": self.patch_config,
            "jax._src.api": self.patch_api,
            "jax._src.interpreters.partial_eval": self.patch_partial_eval,
        }

    def patch_config(self, module):
        import logging

        name = "jax_explain_cache_misses"
        try:
            self.asked = bool(module.config._read(name))
            module.config.update(name, True)
        except Exception:
            return  # a version without explanations
        for logger in ("interpreters.partial_eval", "pjit"):
            logging.getLogger("jax._src." + logger).addFilter(self.tracing)
        for logger in ("compiler", "compilation_cache"):
            logging.getLogger("jax._src." + logger).addFilter(self.caching)

    def tracing(self, record):
        text = record.getMessage()
        if not text.startswith("TRACING CACHE MISS"):
            return True
        self.write(text)
        return self.asked

    def caching(self, record):
        """Handle JAX's messages about its cache on disk, which the same setting enables."""
        return self.asked or "persistent compilation cache" not in record.getMessage().lower()

    def patch_partial_eval(self, module):
        """Explain static arguments, which JAX from 0.11 compares but does not print."""
        explain = getattr(module, "diff_tracing_cache_keys", None)
        if explain is None:
            return

        def diff_tracing_cache_keys(new, old):
            result = explain(new, old)
            try:
                unknown = result[-1] == "cache miss explanation unavailable"
                lines = _static_differences(new[1][0], old[1][0]) if unknown else []
            except Exception:
                lines = []  # a version with other keys
            if not lines:
                return result
            return (1, len(lines), "different static arguments:\n" + "\n".join(lines))

        module.diff_tracing_cache_keys = diff_tracing_cache_keys

    def patch_api(self, module):
        clear_caches = module.clear_caches

        def cleared():
            self.write(None)
            clear_caches()

        cleared.__doc__ = clear_caches.__doc__
        module.clear_caches = cleared

    def write(self, text):
        import json

        line = json.dumps({"time-ns": time.time_ns(), "text": text})
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def _static_differences(new, old):
    """Return a line for each static argument that differs, in the words of older versions."""
    before = dict(_statics(old))

    def shown(static):
        return repr(static.val)[:200].replace("\n", " ")

    return [
        f"  * at input path {path}, now Static(val={shown(static)}) "
        f"and before Static(val={shown(before[path])})"
        for path, static in _statics(new)
        if path in before and static != before[path]
    ]


def _statics(tree, path=""):
    """Yield the static arguments in JAX's tree of arguments, with their paths."""
    if type(tree).__name__ == "FTStatic":
        yield path, tree
    keys = getattr(tree, "keys", None)
    children = tree._vals if keys is not None else getattr(tree, "elts", ())
    for key, child in zip(keys or range(len(children)), children):
        yield from _statics(child, f"{path}[{key!r}]")


class _Torch:
    """Steps of PyTorch, by boundaries or as a context."""

    def __init__(self, recorder, profiler):
        self.recorder, self.profiler = recorder, profiler
        self.by = None
        self.open = None
        # The number of marks, and those that are not steps.
        self.marks = 0
        self.abandoned = []

    def boundary(self, by):
        """End a step and begin the next one; the program's own marks have priority over its
        optimizer's.
        """
        if self.by == "profile" and by != "profile":
            return
        self.by = by
        self.recorder.begin(self.start)
        self.close()
        self.__enter__()

    def __enter__(self):
        self.recorder.begin(self.start)
        mark = None
        if self.recorder.tracing != "none":
            from torch.autograd.profiler import record_function

            mark = record_function("ProfilerStep#%d" % self.marks)
        self.marks += 1
        self.open = (time.monotonic_ns(), mark)
        if mark is not None:
            mark.__enter__()

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.open is None:
            return
        start, mark = self.open
        self.open = None
        if mark is not None:
            mark.__exit__(None, None, None)
        self.recorder.steps.append((start, time.monotonic_ns()))

    def abandon(self):
        """Drop the interval after the last step."""
        if self.open is not None:
            self.close()
            self.recorder.steps.pop()
            self.abandoned.append(self.marks - 1)

    def start(self):
        python = self.recorder.tracing == "python"
        running = self.profiler(record_shapes=True, with_stack=python)
        running.start()
        return lambda: self.stop(running)

    def stop(self, running):
        self.abandon()
        running.stop()
        folder = os.path.join(self.recorder.folder, "profile")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "worker.pt.trace.json")
        running.export_chrome_trace(path)
        with open(path, "rb") as file:
            recorded = file.read()
        for number in self.abandoned:
            recorded = recorded.replace(b'"ProfilerStep#%d"' % number, b'"after the last step"')
        with open(path, "wb") as file:
            file.write(recorded)


class _Silent:
    """Replaces a profiler that the program queries, with empty answers."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Silent()

    def __call__(self, *_, **__):
        return _Silent()

    def __iter__(self):
        return iter(())

    def __str__(self):
        return "(nothing: the steps are recorded by firstlight)"


class _Finder:
    """Find modules as usual, and patch some once they are loaded."""

    def __init__(self, recorder):
        self.recorder = recorder

    def find_spec(self, name, path=None, target=None):
        patch = self.recorder.patches.pop(name, None)
        if patch is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                patch(module)

            spec.loader.exec_module = exec_module
        return spec
