//! Several minima, small constraint widths, empty bins: fits that once failed or ended in another minimum.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod shared;

use histfactory::fit::{Outcome, Search};
use histfactory::inference::{LimitOptions, Note, TestKind, TestOptions, WhyNoLimit};
use histfactory::synthetic::{Limits, any};
use histfactory::toys::ToyOptions;
use histfactory::{FitOptions, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

fn model(channels: &[Value], observations: &[(&str, &[f64])], parameters: &[Value]) -> Model {
    let observations: Vec<Value> =
        observations.iter().map(|(name, data)| json!({"name": name, "data": data})).collect();
    let document = json!({
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}],
        "version": "1.0.0",
    });
    let workspace = Workspace::from_value(&document).unwrap();
    Model::new(&workspace, &ModelOptions::default()).unwrap()
}

fn signal(data: &[f64], modifiers: &[Value]) -> Value {
    let mut all = vec![json!({"name": "mu", "type": "normfactor", "data": null})];
    all.extend(modifiers.iter().cloned());
    json!({"name": "signal", "data": data, "modifiers": all})
}

fn background(data: &[f64], modifiers: &[Value]) -> Value {
    json!({"name": "background", "data": data, "modifiers": modifiers})
}

fn channel(samples: &[Value]) -> Value {
    json!({"name": "c", "samples": samples})
}

/// A signal whose templates lower it on both sides of zero: with a large signal that was not seen there is a
/// minimum for every combination of signs.
fn two_sided() -> Model {
    let template = |name: &str, hi: [f64; 3], lo: [f64; 3]| json!({"name": name, "type": "histosys", "data": {"hi_data": hi, "lo_data": lo}});
    let signal = signal(
        &[6.0, 8.0, 4.0],
        &[
            template("a", [5.2, 6.9, 3.6], [5.3, 7.1, 3.5]),
            template("b", [5.4, 7.0, 3.3], [5.5, 7.2, 3.4]),
            template("d", [5.6, 7.3, 3.5], [5.5, 7.4, 3.6]),
        ],
    );
    let normsys = json!({"name": "n", "type": "normsys", "data": {"hi": 1.2, "lo": 0.8}});
    let background = background(&[12.0, 9.0, 5.0], &[normsys]);
    let channels = [channel(&[signal, background])];
    model(&channels, &[("c", &[11.0, 8.0, 4.0])], &[])
}

/// The lowest minimum of a global search at a value of the parameter of interest.
fn lowest(model: &Model, mu: f64) -> f64 {
    let options = FitOptions::default().fixing(model.poi().unwrap(), mu);
    let options = options.searching(Search::Global { starts: 60, seed: 11 });
    model.fit(model.observed(), &options).unwrap().require().unwrap().nll
}

#[test]
fn a_fit_finds_the_lowest_of_several_minima_and_reports_the_others() {
    let model = two_sided();
    let poi = model.poi().unwrap();
    let mut several = 0;
    for mu in [0.5, 1.0, 2.0, 3.0, 5.0, 8.0] {
        let options = FitOptions::default().fixing(poi, mu);
        // The sign of a parameter at the start decides where a descent ends.
        for sign in [-1.0, 1.0] {
            let mut start = model.init().to_vec();
            for name in ["a", "b", "d"] {
                start[model.index_of(name).unwrap()] = 0.8 * sign;
            }
            let fit = model.fit(model.observed(), &options.clone().from(&start)).unwrap();
            assert!(fit.converged());
            let least = lowest(&model, mu);
            assert!(fit.nll < least + 1e-9, "{mu}: {} {least}", fit.nll);
            several += usize::from(!fit.other_minima.is_empty());
            assert!(fit.other_minima.iter().all(|other| *other > fit.nll));
        }
    }
    assert!(several > 4, "{several}");
}

#[test]
fn a_test_at_the_limit_gives_the_level() {
    let model = two_sided();
    let data = model.observed();
    let limit = model.upper_limit(data, &LimitOptions::default()).unwrap();
    assert!(limit.missing.is_empty(), "{:?}", limit.missing);
    let at = |mu: f64| model.hypotest(data, mu, TestKind::QTilde).unwrap();
    assert!((at(limit.observed).observed.cls - 0.05).abs() < 1e-8);
    for (band, mu) in limit.expected.into_iter().enumerate() {
        let cls = at(mu).expected[band].cls;
        assert!((cls - 0.05).abs() < 1e-8, "{band}: {cls}");
    }
    assert!(limit.notes.iter().any(|note| matches!(note, Note::SeveralMinima { .. })));
}

/// Compares statistics of toys with the lowest minima that a global search finds for each.
#[test]
fn statistics_of_toys_use_the_lowest_minima() {
    let model = two_sided();
    let poi = model.poi().unwrap();
    let mut theta = model.init().to_vec();
    theta[poi] = 0.3;
    let mu = 4.0;
    let toys = ToyOptions::new(40, 5);
    let found = model.toy_statistics(&theta, mu, TestKind::QTilde, &toys, &|_| {}).unwrap();
    for (number, found) in (0..).zip(found) {
        let data = model.toy(&theta, toys.seed, number).unwrap();
        let options =
            TestOptions { search: Search::Global { starts: 20, seed: 1 }, ..Default::default() };
        let exact = model.test_statistic_with(&data, TestKind::QTilde, mu, &options).unwrap();
        let found = found.unwrap();
        assert!((found - exact.value).abs() < 1e-7, "{number}: {found} {}", exact.value);
    }
}

/// A signal can replace a background whose normalisation is free: the minima lie at ends of ranges, far from
/// where the toys are drawn.
#[test]
fn statistics_of_toys_reach_minima_at_the_ends_of_ranges() {
    let mut positive = 0;
    for seed in [600_031, 600_066, 600_068, 600_079] {
        let model = Model::new(&any(seed, Limits::default()), &ModelOptions::default()).unwrap();
        let poi = model.poi().unwrap();
        let theta = model.q0(model.observed()).unwrap().conditional.theta;
        let toys = ToyOptions::new(20, 11);
        let found = model.toy_statistics(&theta, 0.0, TestKind::Q0, &toys, &|_| {}).unwrap();
        for (number, found) in (0..).zip(found) {
            let data = model.toy(&theta, toys.seed, number).unwrap();
            let search = Search::Global { starts: 30, seed: 8 };
            let options = FitOptions::default().searching(search).from(&theta);
            let free = model.fit(&data, &options).unwrap();
            let background = model.fit(&data, &options.fixing(poi, 0.0)).unwrap();
            let lowest = 2.0 * (background.nll - free.nll);
            let found = found.unwrap();
            assert!(found > lowest - 1e-6, "{seed} {number}: {found} {lowest}");
            positive += usize::from(found > 1.0);
        }
    }
    assert!(positive > 4, "{positive}");
}

/// On these workspaces a parameter ends at a bound or far from its measurement, while other parameters could
/// have the same effect at a lower −log L.
#[test]
fn a_fit_leaves_a_minimum_in_which_one_parameter_moved_too_far() {
    let mut far = 0;
    for seed in [1_000_522, 1_001_559, 1_006_883, 1_007_678, 1_007_745, 1_009_939] {
        let model = Model::new(&any(seed, Limits::default()), &ModelOptions::default()).unwrap();
        let (data, poi) = (model.observed(), model.poi().unwrap());
        for mu in [0.0, 1.0, 2.0] {
            let found = model.test_statistic(data, TestKind::QTilde, mu).unwrap();
            let least = lowest(&model, mu);
            let nll = found.conditional.nll;
            assert!(nll < least + 1e-8, "{seed} at {mu}: {nll} {least}");
            let [low, high] = model.bounds()[poi];
            let options = FitOptions::default().bounding(poi, [low.max(0.0), high]);
            let options = options.searching(Search::GLOBAL);
            let least = model.fit(data, &options).unwrap().require().unwrap().nll;
            assert!(found.free.nll < least + 1e-8, "{seed} at {mu}: {} {least}", found.free.nll);
            let other = [&found.conditional, &found.free];
            far += other.iter().filter(|fit| !fit.other_minima.is_empty()).count();
        }
    }
    assert!(far > 5, "{far}");
}

/// A signal that was not seen vanishes at a lower −log L if several templates subtract from it than if the
/// factor of its statistical error becomes zero.
#[test]
fn templates_replace_a_statistical_factor_that_became_zero() {
    let template = |name: &str, by: f64| json!({"name": name, "type": "histosys", "data": {"hi_data": [120.0 * (1.0 + by)], "lo_data": [120.0 * (1.0 - by)]}});
    let modifiers = [
        json!({"name": "stat", "type": "staterror", "data": [17.0]}),
        template("a", 0.19),
        template("b", 0.08),
        template("d", 0.08),
    ];
    let channels = [channel(&[signal(&[120.0], &modifiers), background(&[2.0], &[])])];
    let model = model(&channels, &[("c", &[3.0])], &[]);
    let poi = model.poi().unwrap();
    let gamma = model.index_of("stat[0]").unwrap();
    let mut start = model.init().to_vec();
    start[gamma] = 0.02;
    let mut left = 0;
    for mu in [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0] {
        let options = FitOptions::default().fixing(poi, mu).from(&start);
        let descent = model.fit(model.observed(), &options.clone().searching(Search::Descent));
        let (descent, least) = (descent.unwrap(), lowest(&model, mu));
        left += usize::from(descent.nll > least + 0.1);
        let fit = model.fit(model.observed(), &options).unwrap();
        assert!(fit.nll < least + 1e-8, "at {mu}: {} {least}", fit.nll);
    }
    assert!(left > 0, "the descent alone never ends in the higher minimum");
}

/// The statistic of a signal that its own uncertainty absorbs has an upper bound: bands above it have no
/// limit.
#[test]
fn a_band_without_a_limit_leaves_the_others() {
    let absorbed =
        json!({"name": "a", "type": "histosys", "data": {"hi_data": [9.0], "lo_data": [0.6]}});
    let channels = [channel(&[signal(&[5.0], &[absorbed]), background(&[20.0], &[])])];
    let model = model(&channels, &[("c", &[20.0])], &[]);
    let limit = model.upper_limit(model.observed(), &LimitOptions::default()).unwrap();
    assert!(limit.expected[0].is_finite(), "{limit:?}");
    assert!(limit.expected[4].is_infinite(), "{limit:?}");
    let missing: Vec<_> = limit.missing.iter().map(|missing| missing.band).collect();
    assert!(missing.contains(&Some(2.0)), "{missing:?}");
    assert!(matches!(limit.missing[0].why, WhyNoLimit::LevelsOff { cls, .. } if cls > 0.05));
    let test = model.hypotest(model.observed(), limit.expected[0], TestKind::QTilde).unwrap();
    assert!((test.expected[0].cls - 0.05).abs() < 1e-8);
}

#[test]
fn narrow_constraints_and_large_counts_converge_in_few_iterations() {
    let staterror = |width: f64| {
        let errors = [50.0 * width, 60.0 * width];
        json!({"name": "st", "type": "staterror", "data": errors})
    };
    let shapesys = |width: f64| json!({"name": "sh", "type": "shapesys", "data": [50.0 * width, 60.0 * width]});
    let lumi = json!({"name": "lumi", "type": "lumi", "data": null});
    let measured = |sigma: f64| json!({"name": "lumi", "inits": [1.0], "bounds": [[0.5, 1.5]], "auxdata": [1.0], "sigmas": [sigma]});
    let normsys = json!({"name": "n", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}});
    let mut models = Vec::new();
    let with = |modifier: Value, parameters: &[Value]| {
        let samples =
            [signal(&[5.0, 9.0], &[]), background(&[50.0, 60.0], &[modifier, normsys.clone()])];
        model(&[channel(&samples)], &[("c", &[57.0, 66.0])], parameters)
    };
    for width in [1e-3, 2e-4, 1e-5, 1e-6] {
        models.push((format!("staterror {width}"), with(staterror(width), &[])));
        models.push((format!("shapesys {width}"), with(shapesys(width), &[])));
        models.push((format!("lumi {width}"), with(lumi.clone(), &[measured(width)])));
    }
    for count in [1e6, 1e9] {
        let samples = [
            signal(&[5.0 * count, 9.0 * count], &[]),
            background(&[50.0 * count, 60.0 * count], &[staterror(1e-3 * count), normsys.clone()]),
        ];
        let found = model(&[channel(&samples)], &[("c", &[57.0 * count, 66.0 * count])], &[]);
        models.push((format!("counts of {count}"), found));
    }
    for (name, model) in models {
        let fit = model.fit(model.observed(), &FitOptions::default()).unwrap();
        assert!(fit.converged(), "{name}: {:?} {:e} {:e}", fit.outcome, fit.kkt, fit.edm);
        assert!(fit.iterations < 40, "{name}: {}", fit.iterations);
        assert!(fit.edm < 1e-12, "{name}: {:e}", fit.edm);
        if let Outcome::ConvergedToRounding { limit } = fit.outcome {
            assert!(fit.kkt <= limit);
        }
    }
}

/// In a bin without counts −log L falls with its rate: here down to a rate of zero.
#[test]
fn minima_at_the_boundary_of_positive_rates_are_found() {
    // In the first bin the signal and the template can cancel the background.
    let template = json!({"name": "a", "type": "histosys", "data": {"hi_data": [0.2, 10.3], "lo_data": [3.8, 9.7]}});
    let samples = [signal(&[0.2, 6.0], &[]), background(&[2.0, 10.0], &[template])];
    let model = model(&[channel(&samples)], &[("c", &[0.0, 18.0])], &[]);
    let poi = model.poi().unwrap();
    let options = FitOptions::default().fixing(poi, 0.0);
    let fit = model.fit(model.observed(), &options).unwrap();
    assert!(fit.converged(), "{:?}", fit.outcome);
    let rates = model.expected_main(&fit.theta).unwrap();
    assert!(rates.iter().all(|rate| *rate >= 0.0));
    // No permitted point is lower.
    let a = model.index_of("a").unwrap();
    let mut theta = fit.theta.clone();
    for step in 0..4000 {
        theta[a] = -1.0 + 1e-3 * f64::from(step);
        if let Ok(nll) = model.nll(&theta, model.observed()) {
            assert!(nll > fit.nll - 1e-9, "{}: {nll} {}", theta[a], fit.nll);
        }
    }
    assert_eq!(fit.at_border, [0]);
}

#[test]
fn toys_with_empty_bins_have_a_statistic_or_are_counted() {
    let template = json!({"name": "a", "type": "histosys", "data": {"hi_data": [0.1, 5.3], "lo_data": [1.9, 4.7]}});
    let samples = [signal(&[0.1, 2.0], &[]), background(&[1.0, 5.0], &[template])];
    let model = model(&[channel(&samples)], &[("c", &[1.0, 6.0])], &[]);
    let toys = ToyOptions::new(1000, 3);
    let found = model.toy_test(model.observed(), 1.0, TestKind::QTilde, &toys, &|_| {}).unwrap();
    assert_eq!(found.failed, 0);
    assert_eq!(found.tested.len() + found.alternative.len(), 2000);
    assert!(found.tested.iter().chain(&found.alternative).all(|q| q.is_finite()));
}
