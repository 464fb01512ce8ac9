"""histfactory.torch: the core under autograd."""

import histfactory
import problem
import torch
from histfactory.torch import SignificanceLoss, nll_loss, q0_loss

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def setup(case):
    return problem.workload(case, Arm(case))


class Arm:
    def __init__(self, case):
        self.case = case
        self.model = histfactory.Model.from_workspace(problem.path(case))
        self.signal = case["signal"]
        self.yields = torch.tensor(problem.yields(self.model, self.signal))
        self.theta = torch.tensor(self.model.init)
        self.significance = SignificanceLoss(self.model, yields=[self.signal])

    def signal_gradient(self):
        return self.differentiated(
            lambda yields: nll_loss(self.model, self.theta, {self.signal: yields}), self.yields
        )

    def q0_gradient(self):
        return self.differentiated(
            lambda yields: -q0_loss(self.model, {self.signal: yields}), self.yields
        )

    def loss(self):
        return lambda: self.significance(self.yields)

    def loss_gradient(self):
        return self.differentiated(self.significance, self.yields)

    def differentiated(self, function, at):
        def call():
            x = at.detach().requires_grad_()
            value = function(x)
            value.backward()
            return value, x.grad

        return call

    def training(self):
        return lambda: self.run(self.case["rate"])

    def sweep(self):
        return lambda: [self.run(rate)[-1] for rate in problem.numbers(self.case["rates"])]

    def run(self, rate):
        weights = torch.zeros_like(self.yields, requires_grad=True)
        optimiser = torch.optim.SGD([weights], lr=rate)
        amount = self.yields.sum()
        values = []
        for _ in range(self.case["steps"]):
            optimiser.zero_grad()
            value = self.significance(amount * torch.softmax(weights, 0))
            value.backward()
            optimiser.step()
            values.append(value.detach())
        return values
