import numpy as np
import pytest
from model import step


@pytest.mark.cold(runs=6)
def test_the_first_step():
    """Runs in six fresh processes: the imports and the compilation are part of the time."""
    step(np.ones(8, np.float32), np.ones((64, 8), np.float32))
