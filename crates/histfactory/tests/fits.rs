//! Fits beside tight minima of pyhf's likelihoods.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod shared;

use histfactory::{Data, FitOptions, Interpolation};
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
