"""histfactory.jax: the core as a function of XLA, jitted by whoever calls it."""

import histfactory
import histfactory.jax as losses
import jax
import jax.numpy as jnp
import problem
import training

jax.config.update("jax_enable_x64", True)


def setup(case):
    return problem.workload(case, Arm(case), sync=jax.block_until_ready)


class Arm:
    def __init__(self, case):
        self.case = case
        self.model = histfactory.Model.from_workspace(problem.path(case))
        self.signal = case["signal"]
        self.yields = jnp.asarray(problem.yields(self.model, self.signal))
        self.theta = jnp.asarray(self.model.init)
        self.significance = losses.SignificanceLoss(self.model, yields=[self.signal])

    def nll(self):
        compiled = jax.jit(lambda theta: losses.nll_loss(self.model, theta))
        return lambda: compiled(self.theta)

    def nll_gradient(self):
        compiled = jax.jit(jax.value_and_grad(lambda theta: losses.nll_loss(self.model, theta)))
        return lambda: compiled(self.theta)

    def signal_gradient(self):
        def nll(yields):
            return losses.nll_loss(self.model, self.theta, {self.signal: yields})

        compiled = jax.jit(jax.value_and_grad(nll))
        return lambda: compiled(self.yields)

    def q0(self):
        compiled = jax.jit(lambda yields: -losses.q0_loss(self.model, {self.signal: yields}))
        return lambda: compiled(self.yields)

    def q0_gradient(self):
        def q0(yields):
            return -losses.q0_loss(self.model, {self.signal: yields})

        compiled = jax.jit(jax.value_and_grad(q0))
        return lambda: compiled(self.yields)

    def loss(self):
        compiled = jax.jit(self.significance)
        return lambda: compiled(self.yields)

    def loss_gradient(self):
        compiled = jax.jit(jax.value_and_grad(self.significance))
        return lambda: compiled(self.yields)

    def training(self):
        return training.in_jax(self.case, self.significance, self.yields)

    def sweep(self):
        return training.sweep_in_jax(self.case, self.significance, self.yields)
