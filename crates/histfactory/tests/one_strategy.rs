//! Scans, intervals, objectives, tests and limits use the same minima.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::derivative::Convention;
use histfactory::fit::Search;
use histfactory::inference::{
    Dataset, Fitted, LimitOptions, Note, Profile, TestKind, TestOptions, WhyNoLimit,
};
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::synthetic::{Limits, Twin, any};
use histfactory::toys::ToyOptions;
use histfactory::{FitOptions, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

fn arbitrary(seed: u64) -> Model {
    Model::new(&any(seed, Limits::default()), &ModelOptions::default()).unwrap()
}

fn model(samples: &[Value], counts: &[f64], bounds: Option<[f64; 2]>) -> Model {
    let parameters: Vec<Value> =
        bounds.map(|bounds| json!({"name": "mu", "bounds": [bounds]})).into_iter().collect();
    let document = json!({
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": counts}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}],
        "version": "1.0.0",
    });
    Model::new(&Workspace::from_value(&document).unwrap(), &ModelOptions::default()).unwrap()
}

fn sample(name: &str, data: &[f64], modifiers: &[Value]) -> Value {
    json!({"name": name, "data": data, "modifiers": modifiers})
}

fn signal(data: &[f64]) -> Value {
    sample("signal", data, &[json!({"name": "mu", "type": "normfactor", "data": null})])
}

/// On these workspaces fits at a fixed signal strength lead to a lower minimum than the free fit does.
#[test]
fn no_point_of_a_scan_lies_below_the_best_fit() {
    for (seed, lower) in [(3075, 0.75), (4717, 1.25)] {
        let model = arbitrary(seed);
        let (data, poi) = (model.observed(), model.poi().unwrap());
        let free = Profile::new(&model, data).unwrap().free().unwrap();
        let values: Vec<f64> = (1..21).map(|step| 0.25 * f64::from(step)).collect();
        let scan = model.scan_with(data, poi, &values, Search::default(), &mut || {}).unwrap();
        assert!(scan.best.nll < free.nll - 0.1, "seed {seed}: {} {}", scan.best.nll, free.nll);
        for point in &scan.points {
            let rise = 2.0 * (point.nll - scan.best.nll);
            assert!(rise > -1e-8, "seed {seed} at {}: {rise}", point.value);
            assert!((point.t - rise.max(0.0)).abs() < 1e-12 && point.converged);
        }
        // A test of the value that led there finds it too.
        let test = model.test_statistic(data, TestKind::T, lower).unwrap();
        assert!((test.free.nll - scan.best.nll).abs() < 1e-8, "seed {seed}");
        let at = scan.points.iter().find(|point| (point.value - lower).abs() < 1e-12).unwrap();
        assert!((test.t - at.t).abs() < 1e-7, "seed {seed}: {} {}", test.t, at.t);
    }
}

#[test]
fn an_interval_surrounds_the_lowest_minimum() {
    for seed in [3075, 4717] {
        let model = arbitrary(seed);
        let (data, poi) = (model.observed(), model.poi().unwrap());
        let interval = model.interval(data, poi, 1.0).unwrap();
        let values = [interval.lower.value(), interval.estimate, interval.upper.value()];
        let scan = model.scan_with(data, poi, &values, Search::default(), &mut || {}).unwrap();
        let middle = &scan.points[1];
        assert!(middle.t < 1e-7, "seed {seed}: {}", middle.t);
        for (end, point) in [interval.lower, interval.upper].iter().zip([0, 2]) {
            let t = scan.points[point].t;
            if matches!(end, histfactory::inference::End::Crossing(_)) {
                assert!((t - 1.0).abs() < 1e-6, "seed {seed}: {t}");
            }
        }
    }
}

/// On these workspaces the background nearest to the best fit is not the lowest one.
#[test]
fn an_objective_has_the_value_of_the_test() {
    for seed in [1589, 1611, 3087, 4078, 4483] {
        let workspace = any(seed, Limits::default());
        let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
        let channel = &workspace.channels[0];
        let inputs = [Input::Nominal {
            channel: channel.name.clone(),
            sample: channel.samples[0].name.clone(),
        }];
        let quantity = Quantity::Q0 { dataset: Dataset::Observed };
        let objective =
            Objective::new(&model, quantity, &inputs, Convention::TemplatesFixed).unwrap();
        let found = objective.evaluate(&objective.current(), None).unwrap();
        let test = model.q0(model.observed()).unwrap();
        let tolerance = 1e-7 * (1.0 + test.value);
        assert!((found - test.value).abs() < tolerance, "seed {seed}: {found} {}", test.value);
    }
}

/// With a negative signal in one bin −log L has no value above some signal strength.
#[test]
fn a_band_whose_fits_fail_is_nan_and_has_a_reason() {
    let samples = [signal(&[3.0, -0.002]), sample("background", &[60.0, 0.01], &[])];
    let model = model(&samples, &[60.0, 0.0], None);
    let limit = model.upper_limit(model.observed(), &LimitOptions::default()).unwrap();
    assert!(limit.expected[0].is_finite(), "{limit:?}");
    assert!(limit.expected[4].is_nan(), "{limit:?}");
    let missing = limit.missing.iter().find(|missing| missing.band == Some(2.0)).unwrap();
    let WhyNoLimit::FitFailed { mu, data, why } = &missing.why else { panic!("{:?}", missing.why) };
    assert!(*mu > 4.9 && *data == Fitted::Expected && !why.is_empty(), "{missing:?}");
    let text = missing.why.to_string();
    assert!(text.contains("the expected data") && text.contains(&mu.to_string()), "{text}");
}

#[test]
fn a_limit_that_levels_off_names_its_data() {
    let absorbed =
        json!({"name": "a", "type": "histosys", "data": {"hi_data": [9.0], "lo_data": [0.6]}});
    let mut signal = signal(&[5.0]);
    signal["modifiers"].as_array_mut().unwrap().push(absorbed);
    let model = model(&[signal, sample("background", &[20.0], &[])], &[20.0], None);
    let limit = model.upper_limit(model.observed(), &LimitOptions::default()).unwrap();
    let band = limit.missing.iter().find(|missing| missing.band == Some(2.0)).unwrap();
    assert!(matches!(band.why, WhyNoLimit::LevelsOff { data: Fitted::Expected, .. }), "{band:?}");
    assert!(band.why.to_string().contains("CLs of the expected data stays above"), "{band:?}");
}

/// A bin that only contains signal has no likelihood without a signal if it has counts.
#[test]
fn toys_without_a_statistic_are_counted() {
    let samples = [signal(&[0.5, 5.0]), sample("background", &[0.0, 50.0], &[])];
    let model = model(&samples, &[0.0, 50.0], None);
    let toys = ToyOptions::new(200, 1);
    let found = model.toy_statistics(model.init(), 0.0, TestKind::Q0, &toys, &|_| {}).unwrap();
    for (number, found) in (0..).zip(&found) {
        let toy = model.toy(model.init(), toys.seed, number).unwrap();
        assert_eq!(found.is_none(), toy.as_slice()[0] > 0.0, "toy {number}");
    }
    let test = model.toy_test(model.observed(), 1.0, TestKind::QTilde, &toys, &|_| {}).unwrap();
    assert_eq!(test.failed, 0);
}

#[test]
fn limits_and_fits_report_a_negative_background() {
    let down = json!({"name": "a", "type": "histosys", "data": {"hi_data": [-4.0, 31.0], "lo_data": [8.0, 29.0]}});
    let samples = [signal(&[5.0, 0.5]), sample("one", &[2.0, 30.0], &[down])];
    let model = model(&samples, &[3.0, 60.0], None);
    let expected = Note::NegativeBackground { bins: vec![0] };
    let fit = model.fit(model.observed(), &FitOptions::default()).unwrap();
    assert!(model.notes_of_fit(&fit).unwrap().contains(&expected));
    let limit = model.upper_limit(model.observed(), &LimitOptions::default()).unwrap();
    assert!(limit.notes.contains(&expected), "{:?}", limit.notes);
}

/// The continuation along μ needs about as many fits as bands and steps, not a search for each band.
#[test]
fn a_limit_with_bands_takes_at_most_twenty_eight_fits_on_the_combination() {
    let workspace = Twin::Combination.workspace(1);
    let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
    assert_eq!(model.parameter_count(), 184);
    let limit = model.upper_limit(model.observed(), &LimitOptions::default()).unwrap();
    assert!(
        limit.missing.is_empty() && limit.fits <= 28,
        "{} fits, {} tested",
        limit.fits,
        limit.tested.len()
    );
}

/// For a best fit below zero q̃ compares with μ̂ = 0, whatever bounds the workspace has. pyhf uses the bounds
/// as they are: with bounds from −5, its q̃ is the statistic q in the formulae of q̃.
#[test]
fn qtilde_keeps_the_signal_at_or_above_zero_with_negative_bounds() {
    let samples = [
        signal(&[12.0, 11.0]),
        sample(
            "background",
            &[50.0, 52.0],
            &[json!({"name": "u", "type": "shapesys", "data": [3.0, 7.0]})],
        ),
    ];
    let counts = [45.0, 44.0];
    let wide = model(&samples, &counts, Some([-5.0, 10.0]));
    let usual = model(&samples, &counts, None);
    let at = |model: &Model, kind| {
        model.hypotest_with(model.observed(), 1.0, kind, &TestOptions::default()).unwrap()
    };
    let [tilde, q] = [TestKind::QTilde, TestKind::Q].map(|kind| at(&wide, kind));
    assert!(tilde.statistic.mu_hat.abs() < 1e-12 && q.statistic.mu_hat < -0.1);
    let same = at(&usual, TestKind::QTilde);
    assert!((tilde.observed.cls - same.observed.cls).abs() < 1e-10);
    let [bounded, q_of_pyhf, qtilde_of_pyhf] = PYHF;
    assert!((tilde.observed.cls - bounded).abs() < 2e-6, "{}", tilde.observed.cls);
    assert!((q.observed.cls - q_of_pyhf).abs() < 2e-6, "{}", q.observed.cls);
    // The documented deviation from pyhf.
    assert!(tilde.observed.cls > 1.5 * qtilde_of_pyhf);
}

/// CLs of pyhf 0.7.6 at μ = 1: q̃ with bounds (0, 10), q with (−5, 10), and q̃ with (−5, 10).
const PYHF: [f64; 3] = [0.012_817_437_957, 0.012_675_338_243, 0.008_081_624_207];
