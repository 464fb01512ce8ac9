"""Call the workload of a suite's arm for a recording: its warm-up, then step after step.

Started as ``python workload.py`` in the folder of the suite, with instructions in
FIRSTLIGHT_TRACE_WORK. `_firstlight_recording` records the steps' own times; this file records those
of the baseline.
"""

import json
import os
import sys
import time


def main(asked):
    sys.path[0] = asked["package"]
    import firstlight
    from firstlight import runner

    # The workload can import neighbouring files, as when it is measured.
    sys.path[0] = os.getcwd()
    sys.argv[:] = [""]
    case = firstlight.Case(asked["case"], asked["parameters"], asked["arm"], asked["options"])
    workload = runner.load(asked["workload"]).setup(case)
    warm_up(workload, asked["warm-up"])
    import _firstlight_recording

    baselines = steps(workload, asked, _firstlight_recording.marker())
    path = os.path.join(_firstlight_recording.folder(), "baselines.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(baselines, file)


def call(workload):
    result = workload.step(*workload.args, **workload.kwargs)
    if workload.sync is not None:
        workload.sync(result)


def warm_up(workload, count):
    if workload.warmup is None:
        for _ in range(count):
            call(workload)
    else:
        result = workload.warmup()
        if workload.sync is not None:
            workload.sync(result)
    if workload.baseline is not None:
        workload.baseline()


def steps(workload, asked, mark):
    """Run this many steps, fewer if they take long; return start and end of each one's baseline."""
    clock = time.monotonic_ns
    deadline = clock() + asked["within-ns"]
    baselines = []
    for number in range(asked["steps"]):
        with mark(number):
            call(workload)
        if workload.baseline is not None:
            start = clock()
            workload.baseline()
            baselines.append([start, clock()])
        if clock() > deadline and number + 1 >= asked["at-least"]:
            break
    return baselines


if __name__ == "__main__":
    main(json.loads(os.environ.pop("FIRSTLIGHT_TRACE_WORK")))
