"""The cases of an arm that JAX compiles, built from its functions.

An arm has `nll_at(theta, yields=None)`, `q0_at(yields)` and `significance(yields)`, to be called at
its `theta` and `yields`.
"""

import jax
import training


class Arm:
    def nll(self):
        compiled = jax.jit(self.nll_at)
        return lambda: compiled(self.theta)

    def nll_gradient(self):
        compiled = jax.jit(jax.value_and_grad(self.nll_at))
        return lambda: compiled(self.theta)

    def signal_gradient(self):
        compiled = jax.jit(jax.value_and_grad(lambda yields: self.nll_at(self.theta, yields)))
        return lambda: compiled(self.yields)

    def q0(self):
        return self.of_yields(self.q0_at)

    def q0_gradient(self):
        return self.of_yields(jax.value_and_grad(self.q0_at))

    def loss(self):
        return self.of_yields(self.significance)

    def loss_gradient(self):
        return self.of_yields(jax.value_and_grad(self.significance))

    def of_yields(self, function):
        compiled = jax.jit(function)
        return lambda: compiled(self.yields)

    def training(self):
        return training.in_jax(self.case, self.significance, self.yields)

    def sweep(self):
        return training.sweep_in_jax(self.case, self.significance, self.yields)
