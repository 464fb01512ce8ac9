"""Compares the Python package with pyhf."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyhf
import pytest
from conftest import DATA, document

import histfactory

WORKSPACES = ["two_bins", "every_modifier"]


@pytest.fixture(params=WORKSPACES)
def pair(request: pytest.FixtureRequest) -> tuple[histfactory.Model, Any, Any]:
    """A model in both packages, with pyhf's data."""
    pyhf.set_backend("numpy", pyhf.optimize.scipy_optimizer(tolerance=1e-12), precision="64b")
    workspace = pyhf.Workspace(document(request.param))
    theirs = workspace.model()
    ours = histfactory.Model.from_workspace(document(request.param))
    return ours, theirs, np.asarray(workspace.data(theirs))


def test_layout_and_likelihood_match_pyhf(
    pair: tuple[histfactory.Model, Any, Any],
) -> None:
    ours, theirs, data = pair
    config = theirs.config
    assert ours.parameter_names == list(config.par_names)
    assert ours.poi == config.poi_name and ours.poi_index == config.poi_index
    np.testing.assert_array_equal(ours.init, config.suggested_init())
    np.testing.assert_array_equal(ours.bounds, config.suggested_bounds())
    np.testing.assert_array_equal(ours.fixed, config.suggested_fixed())
    np.testing.assert_allclose(ours.observed, data, rtol=1e-14)
    assert ours.channels == dict(config.channel_nbins)
    generator = np.random.default_rng(3)
    for _ in range(5):
        theta = ours.init + 0.1 * generator.normal(size=len(ours.init))
        twice = float(theirs.logpdf(theta, data)[0]) * -1.0
        assert ours.nll(theta) == pytest.approx(twice, rel=1e-11)
        expected = np.asarray(theirs.expected_data(theta))
        np.testing.assert_allclose(ours.expected_data(theta), expected, rtol=1e-12)
        assert len(ours.expected_data(theta, auxiliary=False)) == ours.bin_count


def test_gradient_and_hessian_match_the_likelihood(
    every_modifier: histfactory.Model,
) -> None:
    model = every_modifier
    theta = model.init + 0.05
    nll, gradient = model.nll_and_grad(theta)
    assert nll == model.nll(theta)
    hessian = model.hessian(theta)
    h = 1e-5
    for index in range(len(theta)):
        step = np.zeros_like(theta)
        step[index] = h
        up, down = model.nll_and_grad(theta + step), model.nll_and_grad(theta - step)
        assert gradient[index] == pytest.approx((up[0] - down[0]) / (2 * h), abs=1e-5)
        np.testing.assert_allclose(hessian[index], (up[1] - down[1]) / (2 * h), atol=2e-4)


def test_tests_and_limits_match_pyhf(pair: tuple[histfactory.Model, Any, Any]) -> None:
    ours, theirs, data = pair
    observed, expected = pyhf.infer.hypotest(
        1.0, data, theirs, test_stat="qtilde", return_expected_set=True
    )
    found = ours.hypotest(1.0)
    assert found.cls == pytest.approx(float(observed), rel=2e-5)
    np.testing.assert_allclose(found.expected, np.asarray(expected), rtol=2e-5)
    q0 = pyhf.infer.test_statistics.q0(
        0.0,
        data,
        theirs,
        theirs.config.suggested_init(),
        theirs.config.suggested_bounds(),
        theirs.config.suggested_fixed(),
    )
    assert ours.q0() == pytest.approx(float(q0), rel=1e-5, abs=1e-6)
    limit = ours.upper_limit()
    at_limit = pyhf.infer.hypotest(limit.observed, data, theirs, test_stat="qtilde")
    assert float(at_limit) == pytest.approx(0.05, rel=1e-4)
    assert limit.tested.shape[1] == 7 and np.all(np.diff(limit.expected) > 0)


def test_a_fit_carries_its_diagnostics(every_modifier: histfactory.Model) -> None:
    model = every_modifier
    fit = model.fit()
    assert fit.converged and fit.kkt < 1e-9 and fit.edm < 1e-12
    assert fit.covariance is not None and fit.uncertainties is not None
    held = np.isin(model.parameter_names, list(fit.at_bound)) | model.fixed
    inverse = np.linalg.inv(model.hessian(fit.theta)[np.ix_(~held, ~held)])
    np.testing.assert_allclose(fit.covariance[np.ix_(~held, ~held)], inverse, rtol=1e-7, atol=1e-12)
    assert model.poi is not None
    background = model.fit(fixed={model.poi: 0.0})
    assert background[model.poi] == 0.0 and background.nll >= fit.nll
    again = model.fit(data=model.expected_data(fit.theta))
    np.testing.assert_allclose(again.theta, fit.theta, atol=1e-7)
    held_low = model.fit(bounds={model.poi: (0.0, 0.1)}, start=fit.theta)
    assert held_low.at_bound.get(model.poi) == "upper"


def test_workspaces_come_from_paths_dictionaries_and_patches(tmp_path: Path) -> None:
    path = DATA / "two_bins.json"
    workspace = json.loads(path.read_text())
    workspace["channels"][0]["samples"][0]["data"] = np.array([12.0, 11.0])
    patch = [{"op": "replace", "path": "/channels/0/samples/0/data", "value": [24.0, 22.0]}]
    patch_file = tmp_path / "patch.json"
    patch_file.write_text(json.dumps(patch))
    of_path = histfactory.Model.from_workspace(str(path))
    of_dictionary = histfactory.Model.from_workspace(workspace)
    assert of_path.nll(of_path.init) == of_dictionary.nll(of_dictionary.init)
    patched = [histfactory.Model.from_workspace(path, patch=given) for given in (patch, patch_file)]
    doubled = of_path.with_yields({"signal": [24.0, 22.0]})
    for model in (*patched, doubled):
        np.testing.assert_allclose(model.expected_data(model.init)[:2], [74.0, 74.0])


def test_interpolation_is_chosen_modifier_by_modifier() -> None:
    workspace = document("every_modifier")
    smooth = histfactory.Model.from_workspace(workspace)
    names = {"normsys": "code1", "histosys": {"interpcode": "code0"}}
    kinked = histfactory.Model.from_workspace(workspace, interpolation=names)
    theta = smooth.init + 0.3
    assert smooth.nll(theta) != kinked.nll(theta)
    theirs = pyhf.Workspace(copy.deepcopy(workspace)).model(
        modifier_settings={
            "normsys": {"interpcode": "code1"},
            "histosys": {"interpcode": "code0"},
        }
    )
    expected = np.asarray(theirs.expected_data(theta))
    np.testing.assert_allclose(kinked.expected_data(theta), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="code4p"):
        histfactory.Model.from_workspace(workspace, interpolation={"histosys": "code9"})


def test_yields_are_named_by_sample_channel_and_modifier() -> None:
    model = histfactory.Model.synthetic("small")
    shapes = histfactory.synthetic_workspace("small")
    [region] = [c for c in shapes["channels"] if c["name"] == "SR"]
    [background] = [s for s in region["samples"] if s["name"] == "background"]
    moved = [1.5 * value for value in background["data"]]
    both = model.with_yields({"SR/background": moved, "SR/background/background_shape:hi": moved})
    background["data"] = moved
    for modifier in background["modifiers"]:
        if modifier["type"] == "histosys":
            modifier["data"]["hi_data"] = moved
    rebuilt = histfactory.Model.from_workspace(shapes)
    theta = model.init + 0.05
    assert both.nll(theta) == pytest.approx(rebuilt.nll(theta), rel=1e-14)
    with pytest.raises(histfactory.EvaluationError, match="nowhere"):
        model.with_yields({"nowhere/signal": [1.0]})
    with pytest.raises(histfactory.EvaluationError, match="3 yields"):
        model.with_yields({"SR/signal": [1.0, 2.0, 3.0]})


def test_errors_have_the_messages_of_the_core(tmp_path: Path) -> None:
    workspace = document("two_bins")
    workspace["channels"][0]["samples"][0]["modifiers"][0]["type"] = "normfacter"
    with pytest.raises(histfactory.WorkspaceError, match="did you mean `normfactor`"):
        histfactory.Model.from_workspace(workspace)
    with pytest.raises(histfactory.WorkspaceError, match="cannot read"):
        histfactory.Model.from_workspace(tmp_path / "none.json")
    model = histfactory.Model.synthetic()
    with pytest.raises(histfactory.EvaluationError, match="there is no parameter `nu`"):
        model.fit(fixed={"nu": 1.0})
    with pytest.raises(histfactory.HistfactoryError, match="parameters given"):
        model.nll([1.0, 2.0])
    with pytest.raises(ValueError, match="qtilde"):
        model.hypotest(1.0, test="quantile")  # type: ignore[arg-type]


def test_toys_depend_only_on_seed_and_number() -> None:
    model = histfactory.Model.synthetic("small")
    toys = model.toys(model.init, 5, seed=7)
    assert toys.shape == (5, len(model.observed))
    np.testing.assert_array_equal(toys[:3], model.toys(model.init, 3, seed=7))
    assert not np.array_equal(toys, model.toys(model.init, 5, seed=8))
    statistics = model.toy_statistics(model.init, 1.0, 50, seed=2)
    assert np.all(statistics >= 0.0)


def test_arrays_are_borrowed_and_returned_without_a_copy() -> None:
    model = histfactory.Model.synthetic("small")
    theta = np.asarray(model.init)
    strided = np.repeat(theta, 2)[::2]
    assert model.nll(theta) == model.nll(list(theta)) == model.nll(strided)
    # The result owns memory that NumPy did not allocate, and is writable.
    _, gradient = model.nll_and_grad(theta)
    assert gradient.base is not None and gradient.flags.writeable


def test_other_threads_run_during_a_fit() -> None:
    model = histfactory.Model.synthetic("combination")
    reached = threading.Event()
    inside = threading.Event()

    def beside() -> None:
        inside.wait()
        reached.set()

    other = threading.Thread(target=beside)
    other.start()
    # The interpreter switches threads by itself only after this many seconds.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        inside.set()
        # A busy machine may take a while to wake the other thread, so there are many calls.
        for _ in range(50):
            model.toy_statistics(model.init, 1.0, 20)
            if reached.is_set():
                break
        assert reached.is_set()
    finally:
        sys.setswitchinterval(interval)
        other.join()


def test_importing_loads_neither_torch_nor_jax() -> None:
    program = "import sys, histfactory; print([n for n in ('torch', 'jax') if n in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == "[]", found.stderr


def test_objectives_work_with_numpy(two_bins: histfactory.Model) -> None:
    objective = histfactory.Objective(two_bins, "significance", ["signal"])
    x = objective.current
    value, gradient = objective.value_and_gradient(x)
    assert float(value) == pytest.approx(two_bins.significance().z, rel=1e-12)
    again, same, turned = objective.value_and_gradient_along(x, x)
    assert float(again) == float(value)
    np.testing.assert_allclose(same, gradient, rtol=1e-13)
    h = 1e-4
    slopes = [objective.value_and_gradient(x * (1 + s * h))[1] for s in (1, -1)]
    np.testing.assert_allclose(turned, (slopes[0] - slopes[1]) / (2 * h), rtol=1e-6)
    rows = np.stack([x, 2 * x, 3 * x])
    np.testing.assert_array_equal(objective.value(rows)[0], value)
    assert objective.value(rows[:0]).shape == (0,)
    with pytest.raises(ValueError, match="last axis must have 2"):
        objective.value(np.ones(3))


def test_many_rows_have_the_results_of_single_ones(two_bins: histfactory.Model) -> None:
    model = two_bins
    toys = model.toys(model.init, 5, seed=3)
    fits = model.fit_many(toys)
    tests = model.hypotest_many(1.0, toys)
    for row, fit, test in zip(toys, fits, tests, strict=True):
        assert isinstance(fit, histfactory.Fit) and isinstance(test, histfactory.Hypotest)
        assert fit.nll == model.fit(data=row, covariance=False).nll
        assert test.cls == model.hypotest(1.0, row).cls
    signal = np.array([[5.0, 10.0], [10.0, 20.0]])
    found = model.significance_many({"signal": signal})
    for yields, significance in zip(signal, found, strict=True):
        assert isinstance(significance, histfactory.Significance)
        assert significance.z == model.with_yields({"signal": yields}).significance().z


def test_a_bad_row_has_its_exception_and_the_others_their_results(
    two_bins: histfactory.Model,
) -> None:
    found = two_bins.significance_many({"signal": [[5.0, 10.0], [np.nan, 1.0], [6.0, 9.0]]})
    assert isinstance(found[0], histfactory.Significance)
    assert isinstance(found[1], histfactory.HistfactoryError)
    assert isinstance(found[2], histfactory.Significance)
    assert two_bins.fit_many(np.empty((0, 2))) == []
    with pytest.raises(ValueError, match="2 and 1 rows"):
        two_bins.significance_many({"signal": [[5.0, 10.0]] * 2, "background": [[50.0, 60.0]]})
