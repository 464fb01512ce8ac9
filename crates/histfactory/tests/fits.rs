//! Compares fits with precise minima of pyhf's likelihoods.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod shared;

use histfactory::fit::{Covariance, Fitter};
use histfactory::synthetic::Twin;
use histfactory::{Data, FitOptions, Interpolation, Model, ModelOptions};
use shared::goldens;

#[test]
fn fits_reach_the_minima_of_the_goldens() {
    for golden in goldens() {
        let model = golden.model(Interpolation::default());
        let data = Data::new(&model, golden.numbers("data")).unwrap();
        for (key, mu) in [("fit_free", None), ("fit_mu0", Some(0.0)), ("fit_mu1", Some(1.0))] {
            let reference = &golden.json[key];
            let (Some(nll), Some(poi)) = (reference["nll"].as_f64(), model.poi()) else {
                continue;
            };
            let mut options = FitOptions::default();
            if let Some(mu) = mu {
                options = options.fixing(poi, mu);
            }
            let fit = model.fit(&data, &options).unwrap();
            let place = format!("{} {key}", golden.name);
            println!(
                "{place}: {} iterations, {} evaluations, kkt {:.1e} edm {:.1e} {:?} nll {:.3e}",
                fit.iterations,
                fit.evaluations,
                fit.kkt,
                fit.edm,
                fit.outcome,
                fit.nll - nll
            );
            assert!(fit.converged(), "{place}: {:?}", fit.outcome);
            assert!(fit.kkt < 1e-9, "{place}: {}", fit.kkt);
            assert!(fit.edm < 1e-12, "{place}: {}", fit.edm);
            assert!((fit.nll - nll).abs() < 1e-9, "{place}: {} {nll}", fit.nll);
            let pars = shared::floats(&reference["pars"]);
            for (index, (ours, theirs)) in fit.theta.iter().zip(&pars).enumerate() {
                assert!((ours - theirs).abs() < 1e-6, "{place} {index}: {ours} {theirs}");
            }
        }
    }
}

/// The matrix is computed on first access, from the factor that the fit kept.
#[test]
fn later_fits_do_not_change_the_covariance_of_an_earlier_one() {
    let model = Model::new(&Twin::Combination.workspace(1), &ModelOptions::default()).unwrap();
    let poi = model.poi().unwrap();
    let options = FitOptions::default().with_covariance();
    let mut fitter = Fitter::new(&model, model.observed()).unwrap();
    let first = fitter.fit(&options).unwrap();
    let dropped = fitter.fit(&options.clone().fixing(poi, 3.0)).unwrap();
    drop(dropped);
    let second = fitter.fit(&options.clone().fixing(poi, 2.0)).unwrap();
    for (found, options) in [(first, options.clone()), (second, options.fixing(poi, 2.0))] {
        let alone = model.fit(model.observed(), &options).unwrap();
        let [found, alone] = [found, alone].map(|fit| fit.covariance.unwrap());
        for parameter in 0..model.parameter_count() {
            let [a, b] = [&found, &alone].map(|covariance| covariance.sigma(parameter));
            assert!((a - b).abs() <= 1e-7 * b, "{parameter}: {a} {b}");
            let row = |covariance: &Covariance| covariance.matrix().row(parameter).to_vec();
            for (one, two) in row(&found).iter().zip(row(&alone)) {
                assert!((one - two).abs() < 1e-7 * (b * b).max(1e-3), "{parameter}: {one} {two}");
            }
        }
    }
}

/// A fit with a covariance evaluates its exact Hessian within rounding of the minimum and uses it for both.
#[test]
fn a_covariance_is_the_inverse_of_the_hessian_at_the_end_of_the_fit() {
    for twin in Twin::ALL {
        let model = Model::new(&twin.workspace(2), &ModelOptions::default()).unwrap();
        let options = FitOptions::default().with_covariance();
        let fit = model.fit(model.observed(), &options).unwrap();
        let plain = model.fit(model.observed(), &FitOptions::default()).unwrap();
        assert!((fit.nll - plain.nll).abs() < 1e-11 * plain.nll.abs(), "{twin:?}");
        assert!(fit.kkt < 1e-10, "{twin:?}: {}", fit.kkt);
        let covariance = fit.covariance.unwrap();
        let hessian = model.hessian(&fit.theta, model.observed()).unwrap();
        let moving: Vec<usize> =
            (0..fit.theta.len()).filter(|&at| covariance.sigma(at) > 0.0).collect();
        assert!(2 * moving.len() > fit.theta.len(), "{twin:?}");
        for &row in &moving {
            for &column in &moving {
                let product: f64 = moving
                    .iter()
                    .map(|&at| covariance.matrix().get(row, at) * hessian.get(at, column))
                    .sum();
                let expected = f64::from(u8::from(row == column));
                let scale = covariance.sigma(row) * hessian.get(column, column).sqrt();
                let error = (product - expected).abs() / scale.max(1.0);
                assert!(error < 3e-11, "{twin:?} {row} {column}: {error}");
            }
        }
    }
}
