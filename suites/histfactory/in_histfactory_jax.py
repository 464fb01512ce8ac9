"""histfactory.jax: the core as a function of XLA, jitted by its caller."""

import compiled
import histfactory
import histfactory.jax as losses
import jax
import jax.numpy as jnp
import problem

jax.config.update("jax_enable_x64", True)


def setup(case):
    return problem.workload(case, Arm(case), sync=jax.block_until_ready)


class Arm(compiled.Arm):
    def __init__(self, case):
        self.case = case
        self.model = histfactory.Model.from_workspace(problem.path(case))
        self.signal = case["signal"]
        self.yields = jnp.asarray(problem.yields(self.model, self.signal))
        self.theta = jnp.asarray(self.model.init)
        self.significance = losses.SignificanceLoss(self.model, yields=[self.signal])

    def nll_at(self, theta, yields=None):
        given = {} if yields is None else {self.signal: yields}
        return losses.nll_loss(self.model, theta, given)

    def q0_at(self, yields):
        return -losses.q0_loss(self.model, {self.signal: yields})
