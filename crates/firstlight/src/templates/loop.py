import firstlight


def setup(case):
    numbers = list(range(case["count"]))

    def step(values):
        total = 0
        for value in values:
            total += value * value
        return total

    return firstlight.Workload(step, (numbers,))
