//! Diagnostics that fits and tests report with their numbers.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::fit::Side;
use histfactory::inference::{Dataset, LimitOptions, Note, TestOptions};
use histfactory::{FitOptions, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

fn model(samples: &[Value], counts: &[f64]) -> Model {
    let document = json!({
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": counts}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    });
    let workspace = Workspace::from_value(&document).unwrap();
    Model::new(&workspace, &ModelOptions::default()).unwrap()
}

fn sample(name: &str, data: &[f64], factors: &[&str]) -> Value {
    let modifiers: Vec<Value> = factors
        .iter()
        .map(|factor| json!({"name": factor, "type": "normfactor", "data": null}))
        .collect();
    json!({"name": name, "data": data, "modifiers": modifiers})
}

#[test]
fn proportional_samples_are_named_with_their_combination() {
    let samples = [
        sample("signal", &[5.0, 1.0], &["mu"]),
        sample("one", &[20.0, 30.0], &["k1"]),
        sample("two", &[40.0, 60.0], &["k2"]),
    ];
    let model = model(&samples, &[66.0, 92.0]);
    let fit = model.fit(model.observed(), &FitOptions::default().with_covariance()).unwrap();
    let flat = fit.flat.expect("k1 and k2 cannot be distinguished");
    let names: Vec<&str> =
        flat.parameters.iter().map(|(index, _)| model.parameter_names()[*index].as_str()).collect();
    assert_eq!(names, ["k1", "k2"]);
    // 20 k1 + 40 k2 stays constant.
    assert!((flat.parameters[1].1 / flat.parameters[0].1 + 0.5).abs() < 1e-6, "{flat:?}");
    assert!(flat.sigma > 10.0);
}

#[test]
fn a_fit_without_a_flat_direction_reports_none() {
    let samples = [sample("signal", &[5.0, 1.0], &["mu"]), sample("one", &[20.0, 30.0], &["k"])];
    let model = model(&samples, &[26.0, 32.0]);
    let fit = model.fit(model.observed(), &FitOptions::default().with_covariance()).unwrap();
    assert_eq!(fit.flat, None);
}

#[test]
fn a_parameter_at_its_bound_or_without_effect_has_no_uncertainty() {
    let samples = [sample("signal", &[5.0, 1.0], &["mu"]), sample("one", &[20.0, 30.0], &["k"])];
    let deficit = model(&samples, &[10.0, 32.0]);
    let options = FitOptions::default().with_covariance();
    let fit = deficit.fit(deficit.observed(), &options).unwrap();
    let poi = deficit.poi().unwrap();
    assert_eq!(fit.at_bound, [(poi, Side::Lower)]);
    let covariance = fit.covariance.unwrap();
    assert!(covariance.sigma(poi).is_nan());
    assert!(covariance.sigma(deficit.index_of("k").unwrap()) > 0.0);
    let nothing = [sample("signal", &[0.0, 0.0], &["mu"]), sample("one", &[20.0, 30.0], &["k"])];
    let nothing = model(&nothing, &[21.0, 32.0]);
    let fit = nothing.fit(nothing.observed(), &options).unwrap();
    assert!(fit.covariance.unwrap().sigma(nothing.poi().unwrap()).is_nan());
}

#[test]
fn results_with_the_signal_at_its_upper_bound_report_it_or_extend_it() {
    // The best fit is near μ = 20, beyond the bound of 10.
    let samples = [sample("signal", &[2.0, 1.0], &["mu"]), sample("one", &[20.0, 30.0], &[])];
    let model = model(&samples, &[60.0, 50.0]);
    let at_bound = |notes: &[Note]| {
        notes.iter().any(
            |note| matches!(note, Note::AtUpperBound { bound } if (*bound - 10.0).abs() < 1e-12),
        )
    };
    let bounded = model.significance(Dataset::Observed).unwrap();
    assert!(at_bound(&bounded.notes), "{:?}", bounded.notes);
    let limit = model.upper_limit(model.observed(), &LimitOptions::default()).unwrap();
    assert!(at_bound(&limit.notes), "{:?}", limit.notes);
    let options = TestOptions { extend_bound: true, ..TestOptions::default() };
    let extended = model.significance_with(Dataset::Observed, &options).unwrap();
    assert!(extended.mu_hat > 15.0 && extended.z > bounded.z + 0.5, "{}", extended.mu_hat);
    assert!(extended.notes.contains(&Note::BoundExtended { from: 10.0, to: 100.0 }));
    let options = LimitOptions { extend_bound: true, ..LimitOptions::default() };
    let wider = model.upper_limit(model.observed(), &options).unwrap();
    assert!(!at_bound(&wider.notes));
}

#[test]
fn a_negative_background_at_the_best_fit_is_reported() {
    let down = json!({"name": "a", "type": "histosys", "data": {"hi_data": [-4.0, 31.0], "lo_data": [8.0, 29.0]}});
    let background = json!({"name": "one", "data": [2.0, 30.0], "modifiers": [down]});
    let samples = [sample("signal", &[5.0, 0.5], &["mu"]), background];
    let model = model(&samples, &[3.0, 60.0]);
    let test = model.q0(model.observed()).unwrap();
    let expected = Note::NegativeBackground { bins: vec![0] };
    assert!(test.notes.contains(&expected), "{:?} {:?}", test.notes, test.free.theta);
}

#[test]
fn a_ranking_covers_factors_without_a_constraint() {
    let normsys = json!({"name": "n", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}});
    let shape = json!({"name": "s", "type": "shapefactor", "data": null});
    let mut one = sample("one", &[20.0, 30.0], &["k"]);
    one["modifiers"].as_array_mut().unwrap().push(normsys);
    let two = json!({"name": "two", "data": [6.0, 9.0], "modifiers": [shape]});
    let document = json!({
        "channels": [
            {"name": "c", "samples": [sample("signal", &[5.0, 1.0], &["mu"]), one.clone()]},
            {"name": "d", "samples": [one, two]},
        ],
        "observations": [{"name": "c", "data": [26.0, 32.0]}, {"name": "d", "data": [27.0, 40.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    });
    let workspace = Workspace::from_value(&document).unwrap();
    let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
    let ranking = model.ranking(model.observed()).unwrap();
    let names: Vec<&str> =
        ranking.iter().map(|impact| model.parameter_names()[impact.parameter].as_str()).collect();
    for name in ["k", "n", "s[0]", "s[1]"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for impact in &ranking {
        assert!(impact.after.iter().all(|shift| shift.is_finite()));
        let name = &model.parameter_names()[impact.parameter];
        assert_eq!(impact.before[0].is_nan(), name != "n", "{name}");
    }
}
