"""Load firstlight's hooks at interpreter start, then remove this file's traces.

This file is the first ``sitecustomize`` on the path of a measured process. It must leave no trace:
afterwards ``sys.path``, ``PYTHONPATH`` and ``sys.modules["sitecustomize"]`` are the same as without
it, and the user's own ``sitecustomize`` has run, or is absent as before.

Without a descriptor to report to, it only makes ``firstlight`` importable, for scripts with marks
that run as a control.
"""

import os
import sys
import time

_entered = time.monotonic_ns() if hasattr(time, "monotonic_ns") else 0
_here = os.path.dirname(os.path.abspath(__file__))
_package = os.path.join(os.path.dirname(_here), "package")


def _bundle():
    """Return our modules' byte code from one file (see bundle.py), or None if the file does not
    exist yet.
    """
    import marshal

    magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    try:
        with open(os.path.join(_here, "bundle." + sys.implementation.cache_tag), "rb", 0) as file:
            data = file.read()
    except (OSError, TypeError):  # some interpreters keep no byte code, and have no tag
        return {}
    return marshal.loads(data[len(magic) :]) if data.startswith(magic) else {}


def _module(name, bundle):
    """Load a module from the bundle, which costs a third of finding and checking its file."""
    import marshal

    path, code = bundle[name]
    module = type(sys)(name)
    module.__file__ = path
    module.__spec__ = spec = type(sys.__spec__)(name, None, origin=path)
    module.__package__ = parent = name.rpartition(".")[0]
    if path.endswith("__init__.py"):
        module.__package__ = name
        module.__path__ = spec.submodule_search_locations = [os.path.dirname(path)]
    sys.modules[name] = module
    if parent:
        if parent not in sys.modules:
            _module(parent, bundle)
        setattr(sys.modules[parent], name.rpartition(".")[2], module)
    exec(marshal.loads(code), module.__dict__)
    return module


def _load():
    bundle = _bundle()
    if bundle:
        _module("firstlight", bundle)
        if "FIRSTLIGHT_FD" in os.environ:
            for name in ("firstlight._channel", "firstlight._imports", "firstlight._hooks"):
                hooks = _module(name, bundle)
            hooks.install(_entered, lambda name: _module(name, bundle))
        return
    # Our own byte code is stored beside our own files, whatever the user's settings are: otherwise
    # each measured process would compile the hooks.
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
    except Exception:  # the workload runs unhooked; the parent sees that there was no hello
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

# Either the user's module, or the ImportError that `site` expects if there is none.
import sitecustomize  # noqa: E402, F401
