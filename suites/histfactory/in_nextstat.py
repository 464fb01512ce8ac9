"""nextstat, on the CPU."""

import nextstat
import problem


def setup(case):
    return problem.workload(case, Arm(case))


class Arm:
    def __init__(self, case):
        self.text = problem.path(case).read_text()
        if case["job"] == "load":
            return
        self.model = nextstat.from_pyhf(self.text)
        self.theta = self.model.suggested_init()

    def load(self):
        return lambda: float(len(nextstat.from_pyhf(self.text).suggested_init()))

    def nll(self):
        return lambda: self.model.nll(self.theta)

    def nll_gradient(self):
        return lambda: (self.model.nll(self.theta), self.model.grad_nll(self.theta))

    def fit(self):
        return lambda: nextstat.fit(self.model).nll
