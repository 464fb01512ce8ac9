//! Errors of other HistFactory implementations, one test each.

#![expect(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails where it stands")]

use histfactory::inference::TestKind;
use histfactory::interpolation::{HistosysCode, Interpolation};
use histfactory::model::Constraint;
use histfactory::{Data, EvaluationError, FitOptions, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

/// A model of one channel; `parameters` are those of the measurement.
fn model(samples: &Value, observed: &Value, parameters: &Value) -> Model {
    Model::new(&workspace(samples, observed, parameters), &ModelOptions::default()).unwrap()
}

fn workspace(samples: &Value, observed: &Value, parameters: &Value) -> Workspace {
    Workspace::from_value(&json!({
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": observed}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}],
        "version": "1.0.0",
    }))
    .unwrap()
}

fn mu() -> Value {
    json!({"name": "mu", "type": "normfactor", "data": null})
}

fn staterror(values: &Value) -> Value {
    json!({"name": "stat", "type": "staterror", "data": values})
}

#[test]
fn the_width_of_a_staterror_comes_from_its_carriers_alone() {
    let model = model(
        &json!([
            {"name": "signal", "data": [5.0], "modifiers": [mu()]},
            {"name": "one", "data": [30.0], "modifiers": [staterror(&json!([3.0]))]},
            {"name": "two", "data": [20.0], "modifiers": [staterror(&json!([4.0]))]},
        ]),
        &json!([55.0]),
        &json!([]),
    );
    let stat = model.index_of("stat[0]").unwrap();
    let constraint = model.parameters().nth(stat).unwrap().constraint;
    assert_eq!(constraint, Constraint::Normal { auxiliary: 0, sigma: 5.0 / 50.0 });
}

#[test]
fn a_staterror_of_zero_is_fixed_and_keeps_its_constant() {
    let model = model(
        &json!([
            {"name": "signal", "data": [5.0, 5.0], "modifiers": [mu()]},
            {"name": "one", "data": [30.0, 0.0], "modifiers": [staterror(&json!([0.0, 2.0]))]},
        ]),
        &json!([35.0, 5.0]),
        &json!([]),
    );
    assert_eq!(model.fixed(), [false, true, true]);
    // Two counts at their rates, and two normal densities of width one at their centres.
    let ln_gamma = |n: f64| libm::lgamma(n + 1.0);
    let of = |n: f64| n - n * n.ln() + ln_gamma(n);
    let normal = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let expected = of(35.0) + of(5.0) + 2.0 * normal;
    let nll = model.nll(&[1.0, 1.0, 1.0], model.observed()).unwrap();
    assert!((nll - expected).abs() < 1e-12, "{nll} {expected}");
    let fit = model.fit(model.observed(), &FitOptions::default()).unwrap();
    assert!(fit.converged());
    assert_eq!(fit.theta[1..], [1.0, 1.0]);
}

#[test]
fn a_shapesys_without_yield_or_uncertainty_is_fixed_and_keeps_its_constant() {
    let model = model(
        &json!([
            {"name": "signal", "data": [5.0, 5.0, 5.0], "modifiers": [mu()]},
            {"name": "one", "data": [30.0, 0.0, 10.0], "modifiers": [
                {"name": "shape", "type": "shapesys", "data": [3.0, 1.0, 0.0]}]},
        ]),
        &json!([35.0, 5.0, 15.0]),
        &json!([]),
    );
    assert_eq!(model.fixed(), [false, false, true, true]);
    assert_eq!(model.observed().auxiliary(), [100.0, 1.0, 1.0]);
    let of = |n: f64| n - n * f64::ln(n) + libm::lgamma(n + 1.0);
    let expected = of(35.0) + of(5.0) + of(15.0) + of(100.0) + 1.0 + 1.0;
    let nll = model.nll(&[1.0; 4], model.observed()).unwrap();
    assert!((nll - expected).abs() < 1e-12, "{nll} {expected}");
}

#[test]
fn fixed_flags_are_honoured_for_all_or_for_each_component() {
    let samples = json!([
        {"name": "signal", "data": [5.0, 6.0], "modifiers": [mu()]},
        {"name": "one", "data": [30.0, 40.0], "modifiers": [staterror(&json!([3.0, 4.0]))]},
    ]);
    let observed = json!([50.0, 60.0]);
    let all = model(&samples, &observed, &json!([{"name": "stat", "fixed": true}]));
    assert_eq!(all.fixed(), [false, true, true]);
    let each = model(&samples, &observed, &json!([{"name": "stat", "fixed": [false, true]}]));
    assert_eq!(each.fixed(), [false, false, true]);
    let fit = each.fit(each.observed(), &FitOptions::default()).unwrap();
    assert!(fit.converged());
    assert_eq!(fit.theta[2], 1.0);
    assert_ne!(fit.theta[1], 1.0);
}

#[test]
fn the_gradient_is_finite_where_a_factor_is_zero() {
    let model = model(
        &json!([
            {"name": "signal", "data": [5.0], "modifiers": [
                mu(), {"name": "k", "type": "normfactor", "data": null},
                {"name": "a", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}}]},
            {"name": "one", "data": [30.0], "modifiers": [staterror(&json!([3.0]))]},
        ]),
        &json!([40.0]),
        &json!([]),
    );
    let (at_mu, at_k) = (model.index_of("mu").unwrap(), model.index_of("k").unwrap());
    let mut theta = model.init().to_vec();
    theta[at_mu] = 0.0;
    let (_, gradient) = model.nll_and_gradient(&theta, model.observed()).unwrap();
    let weight = 1.0 - 40.0 / 30.0;
    assert!((gradient[at_mu] - weight * 5.0).abs() < 1e-13, "{}", gradient[at_mu]);
    let hessian = model.hessian(&theta, model.observed()).unwrap();
    assert!((hessian.get(at_mu, at_k) - weight * 5.0).abs() < 1e-13);
    // With two factors at zero, only their mixed derivative remains.
    theta[at_k] = 0.0;
    let (_, gradient) = model.nll_and_gradient(&theta, model.observed()).unwrap();
    assert_eq!([gradient[at_mu], gradient[at_k]], [0.0, 0.0]);
    let hessian = model.hessian(&theta, model.observed()).unwrap();
    assert!((hessian.get(at_mu, at_k) - weight * 5.0).abs() < 1e-13);
}

/// A negative signal: the rate is negative from μ = 2 on, also at the start.
fn negative_rates() -> Model {
    model(
        &json!([
            {"name": "signal", "data": [-10.0, 4.0], "modifiers": [mu()]},
            {"name": "one", "data": [20.0, 20.0], "modifiers": [
                {"name": "shape", "type": "shapesys", "data": [2.0, 2.0]}]},
        ]),
        &json!([3.0, 27.0]),
        &json!([{"name": "mu", "inits": [5.0], "bounds": [[-5.0, 10.0]]}]),
    )
}

#[test]
fn a_negative_rate_is_an_error_that_names_its_bin() {
    let model = negative_rates();
    let error = model.nll(model.init(), model.observed()).unwrap_err();
    let expected = EvaluationError::BadRate { channel: "c".to_owned(), bin: 0, rate: -30.0 };
    assert_eq!(error, expected);
}

#[test]
fn a_fit_recovers_from_a_start_with_negative_rates() {
    let model = negative_rates();
    let fit = model.fit(model.observed(), &FitOptions::default()).unwrap();
    assert!(fit.converged() && fit.kkt < 1e-9, "{:?}", fit.outcome);
    let again = model.fit(model.observed(), &FitOptions::default().from(&[1.0, 1.0, 1.0])).unwrap();
    assert!((fit.nll - again.nll).abs() < 1e-9);
}

#[test]
fn counts_in_a_bin_without_a_rate_are_reported() {
    let model = model(
        &json!([{"name": "signal", "data": [0.0, 4.0], "modifiers": [mu()]}]),
        &json!([3.0, 4.0]),
        &json!([]),
    );
    assert_eq!(model.nll(&[1.0], model.observed()).unwrap(), f64::INFINITY);
    let error = model.fit(model.observed(), &FitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("counts were seen where none can be"), "{error}");
}

#[test]
fn an_empty_bin_adds_its_rate() {
    let model = model(
        &json!([{"name": "signal", "data": [0.0, 4.0], "modifiers": [mu()]}]),
        &json!([0.0, 0.0]),
        &json!([]),
    );
    assert_eq!(model.nll(&[1.0], model.observed()).unwrap(), 4.0);
    let (_, gradient) = model.nll_and_gradient(&[1.0], model.observed()).unwrap();
    assert_eq!(gradient, [4.0]);
    let fit = model.fit(model.observed(), &FitOptions::default()).unwrap();
    assert!(fit.converged());
    assert_eq!((fit.theta[0], fit.nll), (0.0, 0.0));
}

#[test]
fn counts_need_not_be_integers() {
    let model = model(
        &json!([{"name": "signal", "data": [4.0], "modifiers": [mu()]}]),
        &json!([2.5]),
        &json!([]),
    );
    let expected = 4.0 - 2.5 * 4.0_f64.ln() + libm::lgamma(3.5);
    let nll = model.nll(&[1.0], model.observed()).unwrap();
    assert!((nll - expected).abs() < 1e-14);
    let error = Data::new(&model, vec![-1.0]).unwrap_err();
    assert_eq!(error, EvaluationError::NegativeCount { index: 0, value: -1.0 });
    let error = Data::new(&model, vec![f64::NAN]).unwrap_err();
    assert!(matches!(error, EvaluationError::NotFinite { .. }));
}

#[test]
fn large_counts_do_not_lose_precision() {
    let model = model(
        &json!([{"name": "signal", "data": [1e12], "modifiers": [mu()]}]),
        &json!([1e12]),
        &json!([]),
    );
    // −ln Pois(n|n) = ½ ln 2πn + 1/12n …
    let expected = 0.5 * (2.0 * std::f64::consts::PI * 1e12).ln();
    let nll = model.nll(&[1.0], model.observed()).unwrap();
    assert!((nll - expected).abs() < 1e-11, "{nll} {expected}");
}

#[test]
fn a_name_cannot_require_two_kinds_of_parameter() {
    let samples = json!([{"name": "signal", "data": [4.0], "modifiers": [
        mu(), {"name": "mu", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}}]}]);
    let read = Workspace::from_value(&json!({
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": [4.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }));
    let error = match read {
        Err(error) => error.to_string(),
        Ok(workspace) => Model::new(&workspace, &ModelOptions::default()).unwrap_err().to_string(),
    };
    assert!(error.contains("mu"), "{error}");
}

#[test]
fn a_flat_direction_does_not_stop_a_fit() {
    let model = model(
        &json!([
            {"name": "signal", "data": [0.0, 0.0], "modifiers": [mu()]},
            {"name": "one", "data": [20.0, 10.0], "modifiers": [
                {"name": "k", "type": "normfactor", "data": null}]},
        ]),
        &json!([22.0, 11.0]),
        &json!([]),
    );
    let fit = model.fit(model.observed(), &FitOptions::default().with_covariance()).unwrap();
    assert!(fit.converged() && fit.kkt < 1e-9);
    assert!((fit.theta[model.index_of("k").unwrap()] - 1.1).abs() < 1e-9);
}

/// ROOT uses a Poisson constraint from 6.22 on, and exported workspaces often mean that; pyhf never does.
#[test]
fn a_staterror_is_normal_even_for_few_events() {
    let model = model(
        &json!([
            {"name": "signal", "data": [5.0], "modifiers": [mu()]},
            {"name": "one", "data": [4.0], "modifiers": [staterror(&json!([2.0]))]},
        ]),
        &json!([9.0]),
        &json!([]),
    );
    let of_main = |gamma: f64| {
        let (n, rate) = (9.0, 5.0 + 4.0 * gamma);
        rate - n * f64::ln(rate) + libm::lgamma(n + 1.0)
    };
    let of_normal = |gamma: f64| {
        let (sigma, distance) = (0.5, gamma - 1.0);
        (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln() + 0.5 * (distance / sigma).powi(2)
    };
    // pyhf 0.7.6 computed the last column.
    for (gamma, pyhf) in [(1.0, 2.252_597_636_700_221_6), (1.3, 2.506_129_350_114_167_5)] {
        let nll = model.nll(&[1.0, gamma], model.observed()).unwrap();
        assert!((nll - of_main(gamma) - of_normal(gamma)).abs() < 1e-14, "{nll}");
        assert!((nll - pyhf).abs() < 1e-14, "{nll}");
    }
    // A Poisson term of four events would have a curvature of 4/γ² there, not 1/σ².
    let gamma: f64 = 1.3;
    let hessian = model.hessian(&[1.0, gamma], model.observed()).unwrap();
    let of_rate = 9.0 * 16.0 / (5.0 + 4.0 * gamma).powi(2);
    assert!((hessian.get(1, 1) - of_rate - 4.0).abs() < 1e-13);
}

/// Combine (and evermore's asymmetric exponential) joins its two sides within |α| < ½, in the
/// exponent; code4 within |α| < 1, in the factor.
#[test]
fn code4_is_not_the_smoothing_of_combine() {
    let (hi, lo) = (1.3_f64, 0.8_f64);
    let model = model(
        &json!([
            {"name": "signal", "data": [5.0], "modifiers": [mu()]},
            {"name": "one", "data": [10.0], "modifiers": [
                {"name": "a", "type": "normsys", "data": {"hi": hi, "lo": lo}}]},
        ]),
        &json!([9.0]),
        &json!([]),
    );
    let combine = |alpha: f64| {
        let (up, down) = (hi.ln(), -lo.ln());
        let twice = 2.0 * alpha;
        let along = match alpha {
            alpha if alpha >= 0.5 => 1.0,
            alpha if alpha <= -0.5 => -1.0,
            _ => 0.125 * twice * (twice.powi(2) * (3.0 * twice.powi(2) - 10.0) + 15.0),
        };
        10.0 * (alpha * 0.5 * ((up + down) + along * (up - down))).exp()
    };
    // pyhf 0.7.6 computed the second column.
    for (alpha, pyhf, as_in_combine) in [
        (-1.7, 6.843_101_439_943_604, true),
        (-0.7, 8.546_193_195_074_078, false),
        (-0.3, 9.322_878_184_195_233, false),
        (0.3, 10.793_309_775_020_541, false),
        (0.7, 12.009_153_677_254_398, false),
        (1.7, 15.620_815_356_808_382, true),
    ] {
        let rate = model.expected_main(&[0.0, alpha]).unwrap()[0];
        assert!((rate - pyhf).abs() < 1e-13, "{alpha}: {rate}");
        let apart = (rate - combine(alpha)).abs();
        assert_eq!(apart < 1e-13, as_in_combine, "{alpha}: {apart}");
        assert!(as_in_combine || apart > 1e-3, "{alpha}: {apart}");
    }
}

/// The reference is pyhf 0.7.6; later versions fix code2 and guard q̃ against 0/0.
#[test]
fn the_released_pyhf_is_the_default_and_other_versions_have_a_name() {
    let workspace = workspace(
        &json!([
            {"name": "signal", "data": [5.0], "modifiers": [mu()]},
            {"name": "one", "data": [10.0], "modifiers": [
                {"name": "a", "type": "histosys", "data": {"hi_data": [13.0], "lo_data": [8.0]}}]},
        ]),
        &json!([9.0]),
        &json!([]),
    );
    let rate = |histosys, alpha| {
        let interpolation = Interpolation { histosys, ..Interpolation::default() };
        let options = ModelOptions { interpolation, ..ModelOptions::default() };
        Model::new(&workspace, &options).unwrap().expected_main(&[alpha, 0.0]).unwrap()[0]
    };
    // The first column of rates was computed by pyhf 0.7.6.
    for (alpha, released, documented, root) in [
        (-2.0, 7.0, 8.5, 6.5),
        (-0.5, 8.875, 8.875, 8.875),
        (0.5, 11.375, 11.375, 11.375),
        (2.0, 13.5, 13.5, 16.5),
    ] {
        assert_eq!(rate(HistosysCode::Code2, alpha), released, "{alpha}");
        assert_eq!(rate(HistosysCode::Code2Documented, alpha), documented, "{alpha}");
        assert_eq!(rate(HistosysCode::Code2Root, alpha), root, "{alpha}");
    }
}

#[test]
fn a_signal_of_zero_is_excluded_by_nothing() {
    let model = model(
        &json!([
            {"name": "signal", "data": [0.0], "modifiers": [mu()]},
            {"name": "one", "data": [10.0], "modifiers": [
                {"name": "a", "type": "normsys", "data": {"hi": 1.3, "lo": 0.8}}]},
        ]),
        &json!([9.0]),
        &json!([]),
    );
    // Both q̃ are zero: their quotient is what later versions of pyhf guard against.
    let test = model.hypotest(model.observed(), 1.0, TestKind::QTilde).unwrap();
    assert!(test.asimov.abs() < 1e-12 && test.statistic.value.abs() < 1e-12);
    assert!((test.observed.cls - 1.0).abs() < 1e-6, "{:?}", test.observed);
    assert!(test.expected.iter().all(|values| (values.cls - 1.0).abs() < 1e-6));
}
