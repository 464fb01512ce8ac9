import itertools

import numpy as np
from model import step

from firstlight import assert_no_recompile


def batch(size):
    return np.ones((size, 8), np.float32)


def test_a_step_is_compiled_once(firstlight):
    _, loss = firstlight(step, np.ones(8, np.float32), batch(64))
    assert loss > 0


def test_a_last_batch_that_is_smaller_recompiles(firstlight):
    """Fails: the third measured call and all later ones see a smaller batch."""
    sizes = itertools.chain([64] * 12, itertools.repeat(48))
    firstlight(lambda: step(np.ones(8, np.float32), batch(next(sizes))))


def test_another_step_needs_no_other_program():
    weights, _ = step(np.ones(8, np.float32), batch(64))
    with assert_no_recompile():
        step(weights, batch(64))
