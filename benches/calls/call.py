"""A call that does nothing, so that many calls take little time."""

import firstlight


def setup(case):
    return firstlight.Workload(lambda x: x, [1])
