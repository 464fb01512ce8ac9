"""The same model written by hand in JAX, without a library.

Rates are dense arrays over parameters, samples and bins. Fits use Newton's method, with the Hessian
derived by JAX. Gradients of q0 ignore the fitted parameters, which have no effect at a minimum.
"""

import json

import compiled
import jax
import jax.numpy as jnp
import numpy as np
import problem
from jax.scipy.special import gammaln, xlogy

jax.config.update("jax_enable_x64", True)

TOLERANCE = 1e-9
# Rows: the coefficients of α … α⁶ from (u - 1, d - 1, u ln u, d ln d, u ln² u, d ln² d), where u is
# the high factor and d the low one.
CODE4 = (
    np.array(
        [
            [15, -15, -7, 7, 1, -1],
            [24, 24, -9, -9, 1, 1],
            [-10, 10, 10, -10, -2, 2],
            [-24, -24, 14, 14, -2, -2],
            [3, -3, -3, 3, 1, -1],
            [8, 8, -5, -5, 1, 1],
        ]
    )
    / 16
)


def setup(case):
    return problem.workload(case, Arm(case), sync=jax.block_until_ready)


class Arm(compiled.Arm):
    def __init__(self, case):
        self.case = case
        self.path = problem.path(case)
        if case["job"] == "load":
            return
        self.model = Model(json.loads(self.path.read_text()), case["signal"])
        self.theta, self.yields = self.model.init, self.model.yields

    def load(self):
        def call():
            model = Model(json.loads(self.path.read_text()), self.case["signal"])
            return float(len(model.init))

        return call

    def nll_at(self, theta, yields=None):
        yields = self.yields if yields is None else yields
        return self.model.nll(theta, yields, self.model.data)

    def q0_at(self, yields):
        return self.model.q0(yields)

    def significance(self, yields):
        return -jnp.sqrt(self.model.q0(yields))

    def fit(self):
        @jax.jit
        def fitted(start):
            theta = self.model.fit(start, self.model.free, self.yields, self.model.data)
            return self.nll_at(theta)

        return lambda: fitted(self.theta)


class Model:
    """The modifiers of the suite's workspaces, with pyhf's default interpolations."""

    def __init__(self, workspace, signal):
        channels = sorted(workspace["channels"], key=lambda channel: channel["name"])
        samples = sorted({sample["name"] for channel in channels for sample in channel["samples"]})
        lengths = [len(channel["samples"][0]["data"]) for channel in channels]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        self.shape = (len(samples), int(starts[-1]))
        places = [
            (samples.index(sample["name"]), slice(start, start + length), channel, sample)
            for channel, start, length in zip(channels, starts, lengths)
            for sample in channel["samples"]
        ]
        observed = {entry["name"]: entry["data"] for entry in workspace["observations"]}
        self.data = jnp.asarray(np.concatenate([observed[c["name"]] for c in channels]))
        config = workspace["measurements"][0]["config"]
        self._parameters(places, config)
        self._arrays(places, samples.index(signal))

    def _parameters(self, places, config):  # noqa: PLR0912
        """Return names in pyhf's order: by kind, then by first appearance."""
        kinds = ["histosys", "lumi", "normfactor", "normsys", "shapefactor", "staterror"]
        found = {kind: {} for kind in kinds}
        for _, where, _, sample in sorted(places, key=lambda p: (p[2]["name"], p[3]["name"])):
            for modifier in sorted(sample["modifiers"], key=lambda m: (m["name"], m["type"])):
                per_bin = modifier["type"] in ("shapefactor", "staterror")
                bins = (where.stop - where.start) if per_bin else 1
                found[modifier["type"]].setdefault(modifier["name"], (bins, where.start))
        self.index, self.first_bin = {}, {}
        for kind in kinds:
            for name, (bins, first) in found[kind].items():
                if name not in self.index:
                    start = sum(length for _, length in self.index.values())
                    self.index[name] = (start, bins)
                    self.first_bin[name] = first
        count = sum(bins for _, bins in self.index.values())
        init, low, high = np.zeros(count), np.full(count, -5.0), np.full(count, 5.0)
        sigma, self.free = np.full(count, np.inf), np.ones(count, bool)
        for kind in kinds:
            for name in found[kind]:
                start, bins = self.index[name]
                of = slice(start, start + bins)
                if kind in ("normfactor", "shapefactor"):
                    init[of], low[of], high[of] = 1.0, 0.0, 10.0
                elif kind == "staterror":
                    init[of], low[of], high[of] = 1.0, 1e-10, 10.0
                else:
                    sigma[of] = 1.0
        for given in config["parameters"]:
            start, bins = self.index[given["name"]]
            of = slice(start, start + bins)
            init[of] = given.get("inits", init[of])
            if "bounds" in given:
                low[of], high[of] = np.transpose(given["bounds"])
            if "sigmas" in given:
                sigma[of] = given["sigmas"]
            if given.get("fixed"):
                self.free[of] = False
        self.poi = self.index[config["poi"]][0]
        self.init, self.sigma = jnp.asarray(init), sigma
        self.low, self.high = jnp.asarray(low), jnp.asarray(high)
        # Auxiliary measurements equal the initial parameters.
        self.auxiliary = self.init

    def _arrays(self, places, signal):
        shape, count = self.shape, len(self.init)
        self.nominal = np.zeros(shape)
        factors = np.zeros((count, *shape), bool)
        hi, lo = np.ones((count, *shape)), np.ones((count, *shape))
        up, down = np.zeros((count, *shape)), np.zeros((count, *shape))
        varied = np.zeros((count, *shape), bool)
        self.carriers, self.squares = np.zeros(shape, bool), np.zeros(shape[1])
        self.gamma = np.full(shape[1], -1)
        for row, where, _, sample in places:
            self.nominal[row, where] = sample["data"]
            for modifier in sample["modifiers"]:
                start, bins = self.index[modifier["name"]]
                kind, data = modifier["type"], modifier["data"]
                if kind in ("normfactor", "lumi"):
                    factors[start, row, where] = True
                elif kind == "normsys":
                    hi[start, row, where], lo[start, row, where] = data["hi"], data["lo"]
                elif kind == "histosys":
                    up[start, row, where] = data["hi_data"]
                    down[start, row, where] = data["lo_data"]
                    varied[start, row, where] = True
                elif kind in ("shapefactor", "staterror"):
                    for bin in range(bins):
                        factors[start + bin, row, where.start + bin] = True
                    if kind == "staterror":
                        self.carriers[row, where] = True
                        self.squares[where] += np.square(data)
                        self.gamma[where] = np.arange(start, start + bins)
        self.factors = np.flatnonzero(factors.any((1, 2)))
        self.factor_mask = factors[self.factors]
        self.normsys = np.flatnonzero((hi != 1).any((1, 2)) | (lo != 1).any((1, 2)))
        u, d = hi[self.normsys], lo[self.normsys]
        terms = [u - 1, d - 1, u * np.log(u), d * np.log(d), u * np.log(u) ** 2, d * np.log(d) ** 2]
        self.polynomial = np.tensordot(CODE4, np.array(terms), 1)
        self.log_up, self.log_down = np.log(u), np.log(d)
        self.histosys = np.flatnonzero(varied.any((1, 2)))
        mask = varied[self.histosys]
        self.odd = np.where(mask, (up - down)[self.histosys] / 2, 0)
        self.sums, self.varied = np.where(mask, (up + down)[self.histosys], 0), mask
        of_signal = [
            np.arange(where.start, where.stop) for row, where, *_ in places if row == signal
        ]
        self.row, self.bins = signal, np.concatenate(of_signal)
        self.yields = jnp.asarray(self.nominal[signal, self.bins])

    def rates(self, theta, yields):
        nominal = jnp.asarray(self.nominal).at[self.row, self.bins].set(yields)
        alpha = theta[self.histosys][:, None, None]
        inside = alpha**2 * (15 - 10 * alpha**2 + 3 * alpha**4)
        t = jnp.where(jnp.abs(alpha) > 1, 8 * jnp.abs(alpha), inside)
        even = jnp.where(self.varied, self.sums - 2 * nominal, 0) / 16
        total = nominal + jnp.sum(alpha * self.odd + t * even, axis=0)
        alpha = theta[self.normsys][:, None, None]
        powers = jnp.stack([alpha[:, 0, 0] ** power for power in range(1, 7)])
        inside = 1 + jnp.einsum("kp,kpsb->psb", powers, self.polynomial)
        outside = jnp.exp(jnp.where(alpha > 0, alpha * self.log_up, -alpha * self.log_down))
        total = total * jnp.prod(jnp.where(jnp.abs(alpha) >= 1, outside, inside), axis=0)
        factors = theta[self.factors][:, None, None]
        return jnp.sum(total * jnp.prod(jnp.where(self.factor_mask, factors, 1.0), axis=0), axis=0)

    def widths(self, yields):
        """Return the widths of all normal constraints; that of a staterror follows the yields."""
        nominal = jnp.asarray(self.nominal).at[self.row, self.bins].set(yields)
        bins = np.flatnonzero(self.gamma >= 0)
        sums = jnp.sum(jnp.where(self.carriers, nominal, 0), axis=0)[bins]
        return jnp.asarray(self.sigma).at[self.gamma[bins]].set(jnp.sqrt(self.squares[bins]) / sums)

    def nll(self, theta, yields, data, auxiliary=None):
        rates = self.rates(theta, yields)
        auxiliary = self.auxiliary if auxiliary is None else auxiliary
        main = jnp.sum(rates - xlogy(data, rates) + gammaln(data + 1))
        held = np.isfinite(self.sigma)
        held[self.gamma[self.gamma >= 0]] = True
        sigma = jnp.where(held, self.widths(yields), 1.0)
        distance = jnp.where(held, (auxiliary - theta) / sigma, 0.0)
        constant = jnp.where(held, jnp.log(sigma * np.sqrt(2 * np.pi)), 0.0)
        return main + jnp.sum(distance**2 / 2 + constant)

    def fit(self, start, free, yields, data, auxiliary=None):
        """Run damped Newton steps within the bounds."""

        def function(theta):
            return self.nll(theta, yields, data, auxiliary)

        slope, curvature = jax.grad(function), jax.hessian(function)
        eye = jnp.eye(len(start))

        def moving(theta, gradient):
            at_low = (theta <= self.low) & (gradient > 0)
            at_high = (theta >= self.high) & (gradient < 0)
            return free & ~at_low & ~at_high

        def residual(theta, gradient):
            return jnp.max(jnp.abs(jnp.where(moving(theta, gradient), gradient, 0)))

        def step(state):
            theta, gradient, value, damping, count = state
            moves = moving(theta, gradient)
            pairs = moves[:, None] & moves[None, :]
            hessian = jnp.where(pairs, curvature(theta), 0) + eye * jnp.where(moves, damping, 1)
            change = jnp.linalg.solve(hessian, jnp.where(moves, gradient, 0))
            tried = jnp.clip(theta - change, self.low, self.high)
            found = function(tried)
            better = jnp.isfinite(found) & (found <= value + 1e-12 * jnp.abs(value))
            theta = jnp.where(better, tried, theta)
            damping = jnp.where(better, damping / 10, jnp.maximum(10 * damping, 1e-3))
            return theta, slope(theta), jnp.where(better, found, value), damping, count + 1

        def unfinished(state):
            theta, gradient, _, _, count = state
            return (residual(theta, gradient) > TOLERANCE) & (count < 100)

        state = (start, slope(start), function(start), jnp.array(0.0), 0)
        return jax.lax.while_loop(unfinished, step, state)[0]

    def q0(self, yields):
        """On the data expected at the initial values, which are also the best fit."""
        expected = self.rates(self.init, yields)
        free = jnp.asarray(self.free).at[self.poi].set(False)
        fixed = jax.lax.stop_gradient((yields, expected))
        background = self.fit(self.init.at[self.poi].set(0.0), free, *fixed, self.init)
        background = jax.lax.stop_gradient(background)
        at = self.nll(background, yields, expected, self.init)
        return 2 * (at - self.nll(self.init, yields, expected, self.init))
