"""Compile the hooks before any process is measured: each module, and all in one file.

Run as a script with the interpreter that will load them. The file holds the interpreter's magic
number and a marshalled table from a module's name to its path and its marshalled code. An unused
module only costs its bytes.
"""

import compileall
import marshal
import os
import sys
from importlib.util import MAGIC_NUMBER

NAMES = (
    "firstlight",
    "firstlight._channel",
    "firstlight._children",
    "firstlight._imports",
    "firstlight._hooks",
    "firstlight.adapters",
    "firstlight.adapters.dynamo",
    "firstlight.adapters.jax",
    "firstlight.adapters.jax_calls",
    "firstlight.adapters.numba",
    "firstlight.adapters.torch",
)


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    package = os.path.join(os.path.dirname(here), "package")
    # Existing byte code is untrusted, so it is always rewritten.
    compileall.compile_dir(os.path.dirname(here), quiet=2, force=True)
    target = os.path.join(here, "bundle." + sys.implementation.cache_tag)
    table = {}
    for name in NAMES:
        path = os.path.join(package, *name.split("."))
        path = os.path.join(path, "__init__.py") if os.path.isdir(path) else path + ".py"
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True, optimize=2)
        table[name] = (path, marshal.dumps(code))
    # Written to another name and moved, because another process may read or write the file.
    aside = "%s.%d" % (target, os.getpid())
    with open(aside, "wb") as file:
        file.write(MAGIC_NUMBER + marshal.dumps(table))
    os.replace(aside, target)


if __name__ == "__main__":
    main()
