//! Fits whose minimum lies where the slope of an interpolation jumps.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::synthetic::{Limits, any};
use histfactory::toys::ToyOptions;
use histfactory::{Data, FitOptions, Interpolation, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

/// A background that `tilt` and `scale` raise on both sides of zero, and a signal.
fn model(observed: &Value) -> Model {
    let workspace = Workspace::from_value(&json!({
        "channels": [{"name": "c", "samples": [
            {"name": "background", "data": [100.0, 50.0, 20.0], "modifiers": [
                {"name": "scale", "type": "normsys", "data": {"hi": 1.2, "lo": 1.1}},
                {"name": "tilt", "type": "histosys", "data": {
                    "hi_data": [103.0, 54.0, 21.0], "lo_data": [106.0, 50.0, 21.0]}}]},
            {"name": "signal", "data": [0.0, 5.0, 20.0], "modifiers": [
                {"name": "mu", "type": "normfactor", "data": null}]}]}],
        "observations": [{"name": "c", "data": observed}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }))
    .unwrap();
    Model::new(&workspace, &piecewise()).unwrap()
}

fn piecewise() -> ModelOptions {
    ModelOptions { interpolation: Interpolation::PIECEWISE, ..ModelOptions::default() }
}

/// The lowest −log L over the other parameters.
fn profile(model: &Model, data: &Data, parameter: usize, value: f64) -> f64 {
    model.fit(data, &FitOptions::default().fixing(parameter, value)).unwrap().require().unwrap().nll
}

#[test]
fn a_minimum_at_a_kink_is_a_minimum() {
    let model = model(&json!([80.0, 50.0, 40.0]));
    let data = model.observed();
    let kinked = ["tilt", "scale"].map(|name| model.index_of(name).unwrap());
    let elsewhere: Vec<f64> =
        model.init().iter().zip(0_u32..).map(|(value, i)| value + 0.7 - f64::from(i)).collect();
    for options in [FitOptions::default(), FitOptions::default().from(&elsewhere)] {
        let fit = model.fit(data, &options.with_covariance()).unwrap();
        assert!(fit.converged() && fit.kkt < 1e-9, "{fit:?}");
        assert_eq!(fit.at_kink, kinked);
        assert!(fit.at_bound.is_empty());
        let covariance = fit.covariance.as_ref().unwrap();
        for parameter in kinked {
            assert_eq!(fit.theta[parameter].to_bits(), 0.0_f64.to_bits());
            assert!(covariance.sigma(parameter).is_nan());
            for step in [1e-6, 1e-3, 0.1, 1.0] {
                for value in [-step, step] {
                    assert!(profile(&model, data, parameter, value) > fit.nll, "{value}");
                }
            }
        }
        assert!(covariance.sigma(model.poi().unwrap()) > 0.0);
    }
}

#[test]
fn a_minimum_beside_a_kink_is_found_on_both_sides() {
    for observed in [json!([120.0, 60.0, 40.0]), json!([104.0, 60.0, 50.0])] {
        let model = model(&observed);
        let data = model.observed();
        let fit = model.fit(data, &FitOptions::default()).unwrap();
        assert!(fit.converged() && fit.kkt < 1e-9, "{fit:?}");
        for name in ["tilt", "scale"] {
            let parameter = model.index_of(name).unwrap();
            for step in -40..=40 {
                let value = f64::from(step) / 16.0;
                assert!(
                    profile(&model, data, parameter, value) >= fit.nll - 1e-9,
                    "{name} {value}"
                );
            }
        }
    }
}

/// A bound at zero only allows the right side, so its slope decides.
#[test]
fn a_bound_at_a_kink_has_the_slope_of_the_inside() {
    let model = model(&json!([120.0, 60.0, 40.0]));
    let scale = model.index_of("scale").unwrap();
    let fit =
        model.fit(model.observed(), &FitOptions::default().bounding(scale, [0.0, 5.0])).unwrap();
    assert!(fit.converged() && fit.theta[scale] > 0.1 && fit.at_kink.is_empty(), "{fit:?}");
}

/// Without a slope on either side a kink holds nothing, so the parameter has an uncertainty.
#[test]
fn expected_data_do_not_hold_parameters_at_kinks() {
    let model = model(&json!([80.0, 50.0, 40.0]));
    let data = Data::new(&model, model.expected_data(model.init()).unwrap()).unwrap();
    let fit = model.fit(&data, &FitOptions::default().with_covariance()).unwrap();
    assert!(fit.converged() && fit.at_kink.is_empty(), "{fit:?}");
    assert!((0..3).all(|parameter| fit.covariance.as_ref().unwrap().sigma(parameter) > 0.0));
}

#[test]
fn no_small_move_improves_a_fit_with_kinks() {
    let (mut failed, mut held) = (Vec::new(), 0);
    for seed in 0..152 {
        let model = Model::new(&any(seed, Limits::default()), &piecewise()).unwrap();
        let Ok(fit) = model.fit(model.observed(), &FitOptions::default()) else { continue };
        if !fit.converged() {
            failed.push(format!("{seed}: {:?} {:.1e}", fit.outcome, fit.kkt));
            continue;
        }
        held += fit.at_kink.len();
        let noise = 1e-12 * (1.0 + fit.nll.abs());
        for &parameter in &fit.at_kink {
            for step in [-1e-5, 1e-5] {
                let mut moved = fit.theta.clone();
                moved[parameter] += step;
                let nll = model.nll(&moved, model.observed());
                assert!(nll.is_err() || nll.unwrap() >= fit.nll - noise, "{seed} {parameter}");
            }
        }
    }
    assert!(failed.len() <= 2, "{failed:#?}");
    assert!(held > 20, "{held}");
}

/// Without a search beyond kinks, one of twenty such fits ends in a higher minimum.
#[test]
fn no_minimum_beyond_a_kink_is_lower() {
    let options = piecewise();
    let (mut looked, mut lower) = (0, Vec::new());
    for seed in 0..200 {
        let limits = Limits { odd: seed % 2 == 0, ..Limits::default() };
        let model = Model::new(&any(seed, limits), &options).unwrap();
        let data = model.observed();
        let Ok(fit) = model.fit(data, &FitOptions::default()) else { continue };
        for (parameter, [low, high]) in model.bounds().iter().copied().enumerate() {
            let value = fit.theta[parameter];
            if !fit.free[parameter] || !fit.converged() || low >= 0.0 || value == 0.0 {
                continue;
            }
            let far = if value > 0.0 { [low, 0.0] } else { [0.0, high] };
            let options = FitOptions::default().from(&fit.theta).bounding(parameter, far);
            let Ok(other) = model.fit(data, &options) else { continue };
            looked += 1;
            if other.converged() && other.nll < fit.nll - 1e-9 {
                lower.push((seed, parameter, other.nll - fit.nll));
            }
        }
    }
    assert!(looked > 200, "{looked}");
    assert!(lower.is_empty(), "{lower:?}");
}

/// A fit that starts in the higher one of two minima ends in the lower one.
#[test]
fn a_fit_crosses_a_kink_to_the_lower_minimum() {
    let tilted = json!({"hi_data": [90.0, 100.0], "lo_data": [95.0, 100.0]});
    let workspace = Workspace::from_value(&json!({
        "channels": [{"name": "c", "samples": [{"name": "b", "data": [100.0, 100.0], "modifiers": [
            {"name": "tilt", "type": "histosys", "data": tilted},
            {"name": "mu", "type": "normfactor", "data": null}]}]}],
        "observations": [{"name": "c", "data": [80.0, 100.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }))
    .unwrap();
    let model = Model::new(&workspace, &piecewise()).unwrap();
    let data = model.observed();
    let tilt = model.index_of("tilt").unwrap();
    let of_side = |bounds| model.fit(data, &FitOptions::default().bounding(tilt, bounds)).unwrap();
    let [left, right] = [of_side([-5.0, 0.0]), of_side([0.0, 5.0])];
    assert!(left.theta[tilt] < -0.1 && right.theta[tilt] > 0.1 && right.nll < left.nll - 0.1);
    let fit = model.fit(data, &FitOptions::default().from(&left.theta)).unwrap();
    assert!((fit.nll - right.nll).abs() < 1e-12 && fit.converged());
    // The extra iterations are counted.
    assert!(fit.iterations > 1 && fit.evaluations > fit.iterations);
    // Toys start where they were drawn, which here is the wrong minimum.
    let toys = ToyOptions::new(16, 3);
    let drawn = model.toys(&left.theta, toys.count, toys.seed).unwrap();
    let fits = model.toy_fits(&left.theta, &toys, &FitOptions::default()).unwrap();
    for (toy, data) in fits.into_iter().zip(&drawn) {
        let toy = toy.unwrap();
        for side in [[-5.0, 0.0], [0.0, 5.0]] {
            let bounded = model.fit(data, &FitOptions::default().bounding(tilt, side)).unwrap();
            assert!(toy.fit.nll <= bounded.nll + 1e-9, "{} {side:?}", toy.number);
        }
    }
}
