"""The cost of reading a result for the correctness check, in a cold process of the suite
quickstart.

Start it with an interpreter that has JAX, such as the one that ``cargo xtask test`` makes.
"""

import sys
import time
from pathlib import Path

BEGAN = time.perf_counter()
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "suites" / "quickstart")]
CASES = {
    "mlp": {"width": 256, "batch": 128},
    "transformer": {"layers": 2, "width": 128, "length": 64, "batch": 4},
}


def main(name: str) -> None:
    import in_jax
    import jax

    import firstlight
    from firstlight import _outputs

    workload = in_jax.setup(firstlight.Case(name, CASES[name], "jax", {}))
    result = jax.block_until_ready(workload.step(*workload.args, **workload.kwargs))
    ready = time.perf_counter()
    _outputs.describe(workload.output(result) if workload.output else result)
    read = time.perf_counter() - ready
    share = 100 * read / (time.perf_counter() - BEGAN)
    print(f"{name}: {1e3 * read:.1f} ms, {share:.1f} % of the process")


if __name__ == "__main__":
    main(sys.argv[1])
