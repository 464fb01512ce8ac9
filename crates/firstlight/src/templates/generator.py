import firstlight


def setup(case):
    numbers = list(range(case["count"]))

    def step(values):
        return sum(value * value for value in values)

    return firstlight.Workload(step, (numbers,))
