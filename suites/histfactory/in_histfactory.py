"""histfactory from Python, with NumPy arrays."""

import histfactory
import problem


def setup(case):
    return problem.workload(case, Arm(case))


class Arm:
    def __init__(self, case):
        self.path = problem.path(case)
        self.signal = case["signal"]
        if case["job"] == "load":
            return
        self.model = histfactory.Model.from_workspace(self.path)
        self.theta = self.model.init
        self.asimov = self.model.expected_data(self.theta)

    def load(self):
        def call():
            model = histfactory.Model.from_workspace(self.path)
            return float(len(model.parameter_names))

        return call

    def nll(self):
        return lambda: self.model.nll(self.theta)

    def nll_gradient(self):
        return lambda: self.model.nll_and_grad(self.theta)

    def fit(self):
        return lambda: self.model.fit(covariance=False).nll

    def q0(self):
        return lambda: self.model.q0(self.asimov)

    def loss(self):
        yields = problem.yields(self.model, self.signal)
        return lambda: -self.model.with_yields({self.signal: yields}).significance().z
