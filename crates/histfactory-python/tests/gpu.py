"""A CUDA driver that runs the kernels' own source on the processor, for tests without a GPU.

Its memory is that of the process, so arrays on the CPU stand for arrays on a GPU.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "histfactory-cuda" / "tests" / "kernels" / "driver.c"
# Settings of the driver, in its order.
VERSION, MEMORY, MAJOR = 0, 1, 2


def load(folder: Path) -> ctypes.CDLL:
    """Build the driver and put it in place: whoever asks for a library of its name gets it."""
    library = folder / "libcuda.so"
    options = ["-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-soname,libcuda.so"]
    compiler = os.environ.get("CC", "cc")
    command = [compiler, *options, "-o", str(library), str(SOURCE), "-lm", "-lpthread"]
    subprocess.run(command, check=True)
    driver = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    driver.driver_set.argtypes = [ctypes.c_int, ctypes.c_long]
    driver.driver_launches.restype = ctypes.c_long
    return driver
