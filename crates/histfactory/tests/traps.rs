//! Where implementations of HistFactory have gone wrong, one test each.

#![expect(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails where it stands")]

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
fn the_gradient_lives_where_a_factor_is_zero() {
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
    // Two factors at zero: only their mixed derivative is left.
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
fn counts_where_none_can_be_are_told() {
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
fn an_empty_bin_costs_its_rate() {
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
fn counts_need_not_be_whole() {
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
fn large_counts_do_not_drown_in_rounding() {
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
fn a_name_cannot_ask_for_two_kinds_of_parameter() {
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
