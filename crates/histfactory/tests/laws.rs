//! Laws of fits and second derivatives, over workspaces of any structure.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::synthetic::{Limits, any};
use histfactory::{FitOptions, Model, ModelOptions};

fn models(count: u64) -> impl Iterator<Item = (u64, Model)> {
    (0..count).map(|seed| {
        let size = usize::try_from(seed % 4).unwrap();
        let limits = Limits {
            channels: 1 + size,
            bins: 1 + (size + 2) % 5,
            samples: 1 + size % 3,
            modifiers: 1 + 2 * size,
            odd: seed % 3 == 0,
        };
        let workspace = any(seed, limits);
        (seed, Model::new(&workspace, &ModelOptions::default()).unwrap())
    })
}

#[test]
fn fits_of_ordinary_workspaces_converge() {
    let mut failed = Vec::new();
    for (seed, model) in models(240) {
        match model.fit(model.observed(), &FitOptions::default()) {
            Ok(fit) if fit.converged() => assert!(fit.kkt < 1e-6, "{seed}: {}", fit.kkt),
            Ok(fit) => failed.push(format!("{seed}: {:?} {:.1e}", fit.outcome, fit.kkt)),
            // Counts in a bin with a rate of zero are not an error of the fit.
            Err(_) => {}
        }
    }
    assert!(failed.len() <= 2, "{failed:#?}");
}

#[test]
fn a_covariance_inverts_the_hessian() {
    let mut seen = 0;
    for (seed, model) in models(80) {
        let options = FitOptions::default().with_covariance();
        let Ok(fit) = model.fit(model.observed(), &options) else { continue };
        let Some(covariance) = fit.covariance.as_ref().filter(|_| fit.converged()) else {
            continue;
        };
        let hessian = model.hessian(&fit.theta, model.observed()).unwrap();
        let moving: Vec<usize> =
            (0..fit.theta.len()).filter(|&i| covariance.sigma(i) > 0.0).collect();
        let largest = moving.iter().fold(0.0_f64, |most, &i| most.max(covariance.sigma(i)));
        if largest > 1e3 {
            continue;
        }
        for &i in &moving {
            for &j in &moving {
                let product: f64 =
                    moving.iter().map(|&k| covariance.matrix().get(i, k) * hessian.get(k, j)).sum();
                let expected = f64::from(u8::from(i == j));
                let scale = 1.0 + hessian.get(j, j).abs() * largest * largest;
                let error = (product - expected).abs();
                assert!(error < 1e-9 * scale, "{seed} {i} {j}: {product}");
            }
        }
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn the_hessian_matches_differences_of_the_gradient() {
    for (seed, model) in models(60) {
        let count = model.parameter_count();
        let theta: Vec<f64> = model
            .init()
            .iter()
            .zip(0_u32..)
            .map(|(value, index)| value + 0.13 * f64::from(index + 1).sin() + 0.01)
            .collect();
        let Ok(hessian) = model.hessian(&theta, model.observed()) else { continue };
        let direction: Vec<f64> = (0_u32..).take(count).map(|i| f64::from(i).cos()).collect();
        let at = |step: f64| {
            let moved: Vec<f64> =
                theta.iter().zip(&direction).map(|(value, along)| value + step * along).collect();
            model.nll_and_gradient(&moved, model.observed()).map(|(_, gradient)| gradient)
        };
        let h = 1e-6;
        let (Ok(up), Ok(down)) = (at(h), at(-h)) else { continue };
        for i in 0..count {
            let slope = (up[i] - down[i]) / (2.0 * h);
            let ours: f64 = (0..count).map(|j| hessian.get(i, j) * direction[j]).sum();
            let size: f64 = (0..count).map(|j| hessian.get(i, j).abs()).sum();
            if !slope.is_finite() {
                continue;
            }
            assert!((slope - ours).abs() < 1e-4 * (1.0 + size), "{seed} {i}: {ours} {slope}");
        }
    }
}
