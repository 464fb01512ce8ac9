"""Time other HistFactory engines on a workspace; prints one line of JSON in microseconds.

Usage: histfactory_peers.py nextstat|pyhf-jax WORKSPACE [SECONDS], or with `first-fit` as the last
argument: only one fit, to be timed from outside.
"""

import json
import pathlib
import sys
import time


def best(call, seconds):
    """Return the median of single calls, of at least two after the first."""
    call()
    times = []
    begin = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    times.sort()
    return times[len(times) // 2] * 1e6


def nextstat_arm(path, seconds, first_fit):
    import nextstat

    text = pathlib.Path(path).read_text()
    model = nextstat.from_pyhf(text)
    if first_fit:
        return {"nll": nextstat.fit(model).nll}
    theta = model.suggested_init()
    fit = nextstat.fit(model)
    return {
        "load": best(lambda: nextstat.from_pyhf(text), seconds),
        "nll": best(lambda: model.nll(theta), seconds),
        "nll_and_gradient": best(lambda: (model.nll(theta), model.grad_nll(theta)), seconds),
        "fit": best(lambda: nextstat.fit(model), seconds),
        "q0": best(lambda: nextstat.profile_scan(model, [0.0]), seconds),
        "nll_at_init": model.nll(theta),
        "nll_at_fit": fit.nll,
    }


def pyhf_arm(path, seconds, first_fit):
    import jax
    import pyhf

    pyhf.set_backend("jax", precision="64b")
    text = pathlib.Path(path).read_text()
    begin = time.perf_counter()
    workspace = pyhf.Workspace(json.loads(text))
    model = workspace.model()
    data = pyhf.tensorlib.astensor(workspace.data(model))
    load = (time.perf_counter() - begin) * 1e6
    if first_fit:
        _, value = pyhf.infer.mle.fit(data, model, return_fitted_val=True)
        return {"nll": float(value) / 2}
    theta = pyhf.tensorlib.astensor(model.config.suggested_init())

    def nll(parameters):
        return -model.logpdf(parameters, data)[0]

    value = jax.jit(nll)
    both = jax.jit(jax.value_and_grad(nll))
    _, fitted = pyhf.infer.mle.fit(data, model, return_fitted_val=True)
    config = model.config
    bounds, fixed = config.suggested_bounds(), config.suggested_fixed()
    init = config.suggested_init()
    return {
        "load": load,
        "nll": best(lambda: value(theta).block_until_ready(), seconds),
        "nll_and_gradient": best(lambda: jax.block_until_ready(both(theta)), seconds),
        "fit": best(lambda: pyhf.infer.mle.fit(data, model), seconds),
        "q0": best(
            lambda: pyhf.infer.test_statistics.q0(0.0, data, model, init, bounds, fixed), seconds
        ),
        "nll_at_init": float(value(theta)),
        "nll_at_fit": float(fitted) / 2,
    }


def main():
    arm, path, *rest = sys.argv[1:]
    first_fit = rest[-1:] == ["first-fit"]
    seconds = 0.5 if first_fit or not rest else float(rest[0])
    arms = {"nextstat": nextstat_arm, "pyhf-jax": pyhf_arm}
    print(json.dumps(arms[arm](path, seconds, first_fit)))


if __name__ == "__main__":
    main()
