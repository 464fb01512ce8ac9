"""nextstat, on the CPU."""

import nextstat
import problem


def setup(case):
    return problem.workload(case, Arm(case))


class Arm:
    def __init__(self, case):
        self.path = problem.path(case)
        self.text = self.path.read_text()
        if case["job"] == "load":
            return
        self.model = nextstat.from_pyhf(self.text)
        self.theta = self.model.suggested_init()

    def output(self, result):
        """Convert a gradient to pyhf's order of parameters, which differs from nextstat's."""
        if not isinstance(result, tuple):
            return problem.flat(result)
        # Looked up after the clock has stopped.
        import histfactory

        names = histfactory.Model.from_workspace(self.path).parameter_names
        value, slopes = result
        by_name = dict(zip(self.model.parameter_names(), slopes))
        return problem.flat([value, [by_name[name] for name in names]])

    def load(self):
        return lambda: float(len(nextstat.from_pyhf(self.text).suggested_init()))

    def nll(self):
        return lambda: self.model.nll(self.theta)

    def nll_gradient(self):
        return lambda: (self.model.nll(self.theta), self.model.grad_nll(self.theta))

    def fit(self):
        return lambda: nextstat.fit(self.model).nll

    def q0(self):
        """Two fits to the data expected at the initial values."""
        expected = self.model.expected_data(self.theta, include_auxdata=False)
        asimov = self.model.with_observed_main(expected)

        def call():
            scan = nextstat.profile_scan(asimov, [0.0])
            return 2 * (scan["points"][0]["nll_mu"] - scan["nll_hat"])

        return call
