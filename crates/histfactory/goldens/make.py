# /// script
# requires-python = ">=3.11"
# dependencies = ["pyhf[jax]==0.7.6"]
# ///
"""Computes the goldens beside this file with pyhf 0.7.6 and jax in double precision.

    uv run crates/histfactory/goldens/make.py [small|combination|shapes|search ...]

The workspaces are the synthetic twins of seed 1, printed by the example `synthetic`. Values and
gradients are pyhf's own; minima are Newton-tight, because pyhf's default fits stop early on models
of more than a hundred parameters.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pyhf
from pyhf.infer.calculators import AsymptoticTestStatDistribution

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent.parent
SEED = 1
MODES = {
    "code4_code4p": {
        "normsys": {"interpcode": "code4"},
        "histosys": {"interpcode": "code4p"},
    },
    "code1_code0": {
        "normsys": {"interpcode": "code1"},
        "histosys": {"interpcode": "code0"},
    },
}


def twin(name):
    command = ["cargo", "run", "--quiet", "--package", "histfactory", "--example", "synthetic"]
    return subprocess.check_output([*command, "--", name, str(SEED)], cwd=ROOT, text=True)


class Likelihood:
    """A model's negative log-likelihood with compiled derivatives."""

    def __init__(self, workspace, settings):
        self.model = workspace.model(modifier_settings=settings)

        def nll(pars, data):
            return -self.model.logpdf(pars, data)[0]

        self.value_and_gradient = jax.jit(jax.value_and_grad(nll))
        self.hessian = jax.jit(jax.hessian(nll))

    def fit(self, data, poi=None):
        """Damped Newton, projected on the bounds, to a gradient below 1e-9."""
        config = self.model.config
        pars = np.array(config.suggested_init(), dtype=float)
        fixed = np.array(config.suggested_fixed())
        low, high = np.array(config.suggested_bounds()).T
        if poi is not None:
            pars[config.poi_index], fixed[config.poi_index] = poi, True
        data, damping = np.array(data), 1e-8
        value, gradient = map(np.asarray, self.value_and_gradient(pars, data))
        for iteration in range(500):  # noqa: B007
            held = fixed | ((pars <= low) & (gradient > 0)) | ((pars >= high) & (gradient < 0))
            free = ~held
            residual = float(np.abs(gradient[free]).max(initial=0.0))
            if residual < 1e-9:
                break
            hessian = np.asarray(self.hessian(pars, data))[np.ix_(free, free)]
            while damping < 1e20:
                scale = np.diag(np.abs(np.diag(hessian)) + 1e-12)
                try:
                    np.linalg.cholesky(hessian + damping * scale)
                except np.linalg.LinAlgError:
                    damping = max(damping * 10, 1e-6)
                    continue
                trial = pars.copy()
                trial[free] -= np.linalg.solve(hessian + damping * scale, gradient[free])
                trial = np.clip(trial, low, high)
                trial[fixed] = pars[fixed]
                new, slope = map(np.asarray, self.value_and_gradient(trial, data))
                if np.isfinite(new) and new <= value + 1e-13 * abs(value):
                    pars, value, gradient = trial, new, slope
                    damping = max(damping / 10, 1e-14)
                    break
                damping = max(damping * 10, 1e-6)
            else:
                break
        return {
            "nll": float(value),
            "pars": pars.tolist(),
            "proj_grad_inf": residual,
            "newton_iters": iteration,
        }


def names(config):
    """As pyhf's `par_names`, per component."""
    return list(config.par_names)


def points(likelihoods, data, rng, count=3):
    """The suggested start, and points about it."""
    config = likelihoods["code4_code4p"].model.config
    init = np.array(config.suggested_init(), dtype=float)
    low, high = np.array(config.suggested_bounds()).T
    fixed = np.array(config.suggested_fixed())
    rows = []
    for index in range(count):
        width = np.where(init == 0, 0.9, 0.08) * index
        pars = np.clip(init + width * rng.standard_normal(len(init)), low, high)
        pars = np.where(fixed, init, pars)
        row = {"pars": pars.tolist()}
        for mode, likelihood in likelihoods.items():
            value, gradient = likelihood.value_and_gradient(pars, np.array(data))
            row[mode] = {
                "nll": float(value),
                "grad_nll": np.asarray(gradient).tolist(),
                "expected": np.asarray(likelihood.model.expected_data(pars)).tolist(),
            }
        rows.append(row)
    return rows


def cls(likelihood, data, fits, mu=1.0):
    """CLs of q-tilde at mu, from tight fits and pyhf's own distributions."""
    model = likelihood.model
    asimov = np.asarray(model.expected_data(np.array(fits["fit_mu0"]["pars"]))).tolist()
    free, held = likelihood.fit(asimov), likelihood.fit(asimov, mu)
    muhat = fits["fit_free"]["pars"][model.config.poi_index]
    q = max(0.0, 2 * (fits["fit_mu1"]["nll"] - fits["fit_free"]["nll"])) if muhat <= mu else 0.0
    q_asimov = max(0.0, 2 * (held["nll"] - free["nll"]))
    root, root_asimov = np.sqrt(q), np.sqrt(q_asimov)
    if root <= root_asimov:
        test = root - root_asimov
    else:
        test = (q - q_asimov) / (2 * root_asimov)
    signal = AsymptoticTestStatDistribution(-root_asimov)
    background = AsymptoticTestStatDistribution(0.0)
    ratio = lambda t: float(signal.pvalue(t) / background.pvalue(t))  # noqa: E731
    return {
        "q": float(q),
        "q_asimov": float(q_asimov),
        "CLs_obs": ratio(test),
        "CLs_exp": [ratio(background.expected_value(n)) for n in (2, 1, 0, -1, -2)],
    }


def golden(name, text):
    workspace = pyhf.Workspace(json.loads(text))
    likelihoods = {mode: Likelihood(workspace, settings) for mode, settings in MODES.items()}
    likelihood = likelihoods["code4_code4p"]
    model, config = likelihood.model, likelihood.model.config
    data = workspace.data(model)
    canonical = json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    result = {
        "twin": name,
        "seed": SEED,
        "md5": hashlib.md5(canonical.encode()).hexdigest(),
        "generated_with": "pyhf 0.7.6 (jax x64), damped Newton to |projected grad|_inf < 1e-9",
        "par_names": names(config),
        "par_order": config.par_order,
        "auxdata_order": config.auxdata_order,
        "channels": config.channels,
        "samples": config.samples,
        "init": [float(value) for value in config.suggested_init()],
        "bounds": [[float(end) for end in pair] for pair in config.suggested_bounds()],
        "fixed": config.suggested_fixed(),
        "poi_index": config.poi_index,
        "nmain": config.nmaindata,
        "data": list(data),
        "points": points(likelihoods, data, np.random.default_rng(SEED)),
    }
    fits = {
        "fit_free": likelihood.fit(data),
        "fit_mu0": likelihood.fit(data, 0.0),
        "fit_mu1": likelihood.fit(data, 1.0),
    }
    muhat = fits["fit_free"]["pars"][config.poi_index]
    t0 = max(0.0, 2 * (fits["fit_mu0"]["nll"] - fits["fit_free"]["nll"]))
    result |= fits
    result |= {"muhat": muhat, "t0": t0, "q0": t0 if muhat >= 0 else 0.0}
    result["qtilde_mu1"] = cls(likelihood, data, fits)
    return result


def main(chosen):
    pyhf.set_backend("jax", precision="64b")
    chosen = chosen or ["small", "combination", "shapes", "search"]
    for name, text in {name: twin(name) for name in chosen}.items():
        result = golden(name, text)
        residuals = [result[fit]["proj_grad_inf"] for fit in ("fit_free", "fit_mu0", "fit_mu1")]
        print(name, f"q0 = {result['q0']:.6g}, residuals {residuals}", file=sys.stderr)
        (HERE / f"{name}.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
