"""`firstlight trace --record` names why JAX compiles again; this also runs with the newest JAX."""

import json
import sys
from pathlib import Path
from typing import Any

from conftest import start

RECORDED = """
import functools
import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((64, 64))

@jax.jit
def ignoring(x, extra):
    return x @ x

@jax.jit
def scaled(x, scale):
    return x @ x * scale

@functools.partial(jax.jit, static_argnames="n")
def power(x, n):
    return x @ x * n

@jax.jit
def plain(x):
    return x @ x + 1

def shifted(by, x):
    return x @ x + by

def made():
    def inner(x):
        return x @ x + 2
    return jax.jit(inner)

for i in range(9):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        if i == 7:
            jax.config.update("jax_default_matmul_precision", "float32")
        if i == 8:
            jax.clear_caches()
        ignoring(x, np.zeros(5 if i == 2 else 4, np.float32))
        scaled(x, 2.0 if i == 3 else np.float32(2))
        power(x, n=3 if i == 4 else 2)
        if i in (1, 5):
            made()(x)
        if i in (1, 6):
            jax.jit(functools.partial(shifted, 3.0))(x)
        jax.block_until_ready(plain(x))
"""


def test_a_recorded_program_names_every_cause(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(RECORDED)
    command = ["trace", "--record", "--format", "json", "--", sys.executable, str(script)]
    finished = start(tmp_path, *command)
    assert finished.returncode == 0, finished.stderr
    assert "CACHE MISS" not in finished.stderr
    document = json.loads(finished.stdout)
    causes: dict[int, dict[str, Any]] = {}
    for one in document["compilations"]:
        if one["turn"] == "again":
            causes.setdefault(one["step"], {})[one["function"]] = one["cause"]
    expected = {
        2: ("ignoring", "shape", "argument `extra`: f32[4] → f32[5]"),
        3: ("scaled", "weak-type", "argument `scale`"),
        4: ("power", "static-argument", "static argument `n`: 2 → 3"),
        5: ("inner", "new-function", "train.py"),
        6: ("shifted", "new-function", "train.py"),
        7: ("plain", "setting", "`jax_default_matmul_precision`: None → float32"),
        8: ("plain", "cleared-cache", "jax.clear_caches"),
    }
    for step, (function, kind, words) in expected.items():
        cause = causes[step][function]
        assert cause["kind"] == kind, (step, cause)
        assert words in cause["text"], (step, cause)
    assert "does not use" in causes[2]["ignoring"]["text"]
