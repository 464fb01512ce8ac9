"""What results report beside their numbers, and rows of a batch without a value."""

from __future__ import annotations

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


def test_an_expected_limit_has_no_signal_unless_it_is_asked_for() -> None:
    model = histfactory.Model.from_workspace(workspace([5.0], [50.0], [50.0]))
    objective = histfactory.Objective(model, "upper_limit", ["signal"])
    value = objective.value(objective.current)
    assert np.isclose(value, model.upper_limit().expected[2], rtol=1e-7)


def test_a_row_without_a_value_leaves_the_others() -> None:
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


def test_a_fit_reports_what_holds_its_parameters() -> None:
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
