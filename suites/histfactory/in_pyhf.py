"""pyhf with its NumPy or its JAX backend, unchanged."""

import json

import problem
import pyhf


def setup(case):
    if case["backend"] == "jax":
        import jax

        pyhf.set_backend("jax", precision="64b")
        return problem.workload(case, Compiled(case), sync=jax.block_until_ready)
    pyhf.set_backend("numpy", precision="64b")
    return problem.workload(case, Arm(case))


class Arm:
    def __init__(self, case):
        self.text = problem.path(case).read_text()
        if case["job"] == "load":
            return
        workspace = pyhf.Workspace(json.loads(self.text))
        self.model = workspace.model()
        self.data = pyhf.tensorlib.astensor(workspace.data(self.model))
        self.theta = pyhf.tensorlib.astensor(self.model.config.suggested_init())

    def load(self):
        def call():
            model = pyhf.Workspace(json.loads(self.text)).model()
            return float(model.config.npars)

        return call

    def nll(self):
        return lambda: -self.model.logpdf(self.theta, self.data)[0]

    def fit(self):
        def call():
            _, value = pyhf.infer.mle.fit(self.data, self.model, return_fitted_val=True)
            return float(value) / 2

        return call

    def q0(self):
        config = self.model.config
        asimov = self.model.expected_data(self.theta)
        init, fixed = config.suggested_init(), config.suggested_fixed()
        bounds = config.suggested_bounds()
        q0 = pyhf.infer.test_statistics.q0
        return lambda: q0(0.0, asimov, self.model, init, bounds, fixed)


class Compiled(Arm):
    def nll_function(self, theta):
        return -self.model.logpdf(theta, self.data)[0]

    def nll(self):
        import jax

        compiled = jax.jit(self.nll_function)
        return lambda: compiled(self.theta)

    def nll_gradient(self):
        import jax

        compiled = jax.jit(jax.value_and_grad(self.nll_function))
        return lambda: compiled(self.theta)
