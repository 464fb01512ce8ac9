"""Notes of results, and rows of a batch without a value."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import histfactory


def workspace(signal: list[float], background: list[float], counts: list[float]) -> dict:
    factor = {"name": "mu", "type": "normfactor", "data": None}
    samples = [
        {"name": "signal", "data": signal, "modifiers": [factor]},
        {"name": "background", "data": background, "modifiers": []},
    ]
    return {
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": counts}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def test_an_expected_limit_uses_no_signal_by_default() -> None:
    model = histfactory.Model.from_workspace(workspace([5.0], [50.0], [50.0]))
    objective = histfactory.Objective(model, "upper_limit", ["signal"])
    value = objective.value(objective.current)
    assert np.isclose(value, model.upper_limit().expected[2], rtol=1e-7)


def test_a_row_without_a_value_does_not_affect_the_others() -> None:
    model = histfactory.Model.from_workspace(workspace([5.0], [50.0], [50.0]))
    objective = histfactory.Objective(model, "significance", ["signal", "background"])
    rows = np.array([[5.0, 50.0], [5.0, 0.0], [6.0, 50.0]])
    values, gradients = objective.value_and_gradient(rows)
    assert np.isnan(values[1]) and np.isnan(gradients[1]).all()
    assert np.isfinite(values[[0, 2]]).all() and np.isfinite(gradients[[0, 2]]).all()
    status = objective.status(rows)
    assert status[0] is None and status[2] is None and isinstance(status[1], str)
    with pytest.raises(histfactory.HistfactoryError):
        objective.value(rows[1])


def test_an_active_bound_is_reported_or_extended() -> None:
    model = histfactory.Model.from_workspace(workspace([2.0], [20.0], [60.0]))
    bounded = model.significance("observed")
    assert any("upper bound" in note for note in bounded.notes)
    extended = model.significance("observed", extend_bound=True)
    assert extended.z > bounded.z + 0.5 and extended.mu_hat > 15.0


def test_a_fit_reports_parameters_that_are_held() -> None:
    model = histfactory.Model.from_workspace(workspace([5.0], [50.0], [30.0]))
    fit = model.fit()
    assert fit.at_bound == {"mu": "lower"}
    assert fit.uncertainties is not None and np.isnan(fit.uncertainties[0])
    assert fit.flat is None and fit.other_minima == [] and fit.at_border == []
    with pytest.raises(ValueError, match="search"):
        model.fit(search="lucky")
    assert model.fit(search="global").nll == fit.nll
    limit = model.upper_limit()
    assert limit.missing == {} and limit.notes == []


def test_an_input_that_is_not_finite_is_one_row_without_a_value() -> None:
    model = histfactory.Model.from_workspace(workspace([5.0], [50.0], [50.0]))
    objective = histfactory.Objective(model, "significance", ["signal"])
    rows = np.array([[5.0], [np.nan], [np.inf], [6.0]])
    values, gradients = objective.value_and_gradient(rows)
    assert np.isfinite(values[[0, 3]]).all() and np.isfinite(gradients[[0, 3]]).all()
    assert np.isnan(values[[1, 2]]).all() and np.isnan(gradients[[1, 2]]).all()
    status = objective.status(rows)
    assert status[0] is None and "NaN" in str(status[1]) and "inf" in str(status[2])


def test_toys_without_a_statistic_are_counted_in_a_warning() -> None:
    # Counts in a bin that only contains signal leave no likelihood without a signal.
    model = histfactory.Model.from_workspace(workspace([0.5, 5.0], [0.0, 50.0], [0.0, 50.0]))
    toys = model.toys(model.init, 100, seed=1)
    bad = int((toys[:, 0] > 0).sum())
    assert 0 < bad < 100
    with pytest.warns(RuntimeWarning, match=f"{bad} of 100 toys have no statistic"):
        found = model.toy_statistics(model.init, 0.0, 100, seed=1, test="q0")
    assert np.array_equal(np.isnan(found), toys[:, 0] > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = model.toy_statistics(model.init, 1.0, 100, seed=1, search="descent")
    assert np.isfinite(again).all()


def test_a_test_statistic_is_a_number_with_notes() -> None:
    model = histfactory.Model.from_workspace(workspace([2.0], [20.0], [60.0]))
    q0 = model.q0()
    assert isinstance(q0, float) and q0 == model.significance("observed").q0
    assert any("upper bound" in note for note in q0.notes) and np.isclose(q0.mu_hat, 10.0)
    extended = model.q0(extend_bound=True, search="global")
    assert extended > q0 and extended.mu_hat > 15.0
    again = pickle.loads(pickle.dumps(extended))
    assert again == extended and again.notes == extended.notes
    assert model.test_statistic(30.0, search="descent", extend_bound=True) > 0.0
    with pytest.raises(ValueError, match="search"):
        model.test_statistic(1.0, search="lucky")


def test_a_fit_has_notes_and_a_limit_counts_its_fits() -> None:
    model = histfactory.Model.from_workspace(workspace([2.0], [20.0], [60.0]))
    assert any("upper bound" in note for note in model.fit().notes)
    assert 5 < model.upper_limit().fits < 60
