//! Tests factorisations in many fronts against the dense one.

use super::lanes::Lanes;
use super::{Fit, FitOptions, Fitter, System};
use crate::kernel::{Curvature, Information};
use crate::model::Ordering;
use crate::synthetic::{Limits, Twin, any, combination_of_analyses};
use crate::{Model, ModelOptions, Workspace};

/// Arbitrary models, some of them with extreme numbers, and combinations.
fn workspaces() -> Vec<Workspace> {
    let limits = |odd: bool| Limits { channels: 6, bins: 4, samples: 4, modifiers: 8, odd };
    let mut all: Vec<Workspace> = (0..60).map(|seed| any(seed, limits(seed % 3 == 0))).collect();
    all.push(Twin::Combination.workspace(5));
    all.push(combination_of_analyses(611, 2));
    all
}

/// With a single front, and with as many as there can be.
fn both(workspace: &Workspace) -> [Model; 2] {
    [Ordering::Single, Ordering::Most]
        .map(|ordering| Model::new(workspace, &ModelOptions::default()).unwrap().ordered(ordering))
}

fn close(one: &[f64], two: &[f64], tolerance: f64) -> bool {
    let size = two.iter().fold(1.0_f64, |size, value| size.max(value.abs()));
    one.iter().zip(two).all(|(one, two)| (one - two).abs() <= tolerance * size)
}

/// A solution for one right-hand side and for lanes, if there is a factor.
fn solution(
    model: &Model,
    curvature: &Curvature,
    free: &[bool],
    damping: f64,
    right: &[f64],
) -> Option<[Vec<f64>; 2]> {
    let mut system = System::new(&model.layout);
    if !system.factorise(&model.layout, curvature, free, damping) {
        return None;
    }
    let mut alone = right.to_vec();
    system.solve(&model.layout, curvature, free, &mut alone);
    let mut lanes = Lanes::zeros(right.len());
    for (at, value) in right.iter().enumerate() {
        lanes.get_mut(at)[2] = *value;
    }
    system.solve_lanes(&model.layout, curvature, free, &mut lanes);
    Some([alone, lanes.of_lane(2).collect()])
}

#[test]
fn many_fronts_solve_like_one_front() {
    let mut solved = 0;
    for (number, workspace) in workspaces().iter().enumerate() {
        let models = both(workspace);
        let theta: Vec<f64> = models[0].init().iter().map(|value| value + 0.01).collect();
        for information in [Information::Fisher, Information::Exact] {
            for (damping, every) in [(0.0, 1000), (1e-3, 3), (1.0, 4)] {
                let mut well_determined = true;
                let found = models.each_ref().map(|model| {
                    let mut evaluator = model.evaluator(model.observed());
                    let right = evaluator.nll_and_gradient(&theta).ok()?.1.to_vec();
                    let mut curvature = Curvature::new(&model.layout);
                    evaluator.collect(&mut curvature, information);
                    let fixed = model.fixed().iter().enumerate();
                    let free: Vec<bool> =
                        fixed.map(|(at, fixed)| !fixed && at % every != 1).collect();
                    let found = solution(model, &curvature, &free, damping, &right);
                    let damped = solution(model, &curvature, &free, damping + 1e-9, &right);
                    let is_close = |(one, two): (&[Vec<f64>; 2], &[Vec<f64>; 2])| {
                        close(&one[0], &two[0], 1e-5)
                    };
                    well_determined &= found.as_ref().zip(damped.as_ref()).is_some_and(is_close);
                    let held: Vec<f64> = free
                        .iter()
                        .zip(&right)
                        .map(|(free, slope)| if *free { 0.0 } else { *slope })
                        .collect();
                    let pushed = curvature.multiply(&model.layout, &held);
                    found.map(|found| (found, pushed))
                });
                let [Some((one, pushed)), Some((many, also_pushed))] = &found else {
                    let neither = found.iter().all(Option::is_none);
                    assert!(neither || !well_determined, "{number}: only one has a factor");
                    continue;
                };
                let place = format!("{number} {information:?} {damping}");
                if !well_determined {
                    // Nearly singular: two ways to compute a solution may differ.
                    continue;
                }
                // Extreme models have coefficients of very different sizes, and a damped matrix may barely
                // have a factor.
                let is_odd = number < 60 && number % 3 == 0;
                let tolerance = if is_odd || damping > 0.0 { 1e-8 } else { 1e-10 };
                assert!(close(&many[0], &one[0], tolerance), "{place}");
                assert!(close(&many[1], &one[0], tolerance), "{place} in lanes");
                assert!(close(also_pushed, pushed, 1e-12), "{place} product");
                solved += 1;
            }
        }
    }
    assert!(solved > 200, "{solved}");
}

#[test]
fn many_fronts_have_the_hessian_of_one_front() {
    for (number, workspace) in workspaces().iter().enumerate() {
        let models = both(workspace);
        let theta: Vec<f64> = models[0].init().iter().map(|value| value + 0.01).collect();
        let [one, many] = models.each_ref().map(|model| {
            model.hessian(&theta, model.observed()).ok().map(|found| found.as_slice().to_vec())
        });
        match (one, many) {
            (Some(one), Some(many)) => assert!(close(&many, &one, 1e-12), "{number}"),
            (one, many) => assert_eq!(one.is_none(), many.is_none(), "{number}"),
        }
    }
}

#[test]
fn many_fronts_fit_like_one_front() {
    let mut compared = 0;
    for (number, workspace) in workspaces().iter().enumerate() {
        let found = both(workspace).map(|model| -> Option<Fit> {
            let mut fitter = Fitter::new(&model, model.observed()).ok()?;
            fitter.fit(&FitOptions::default().with_covariance()).ok()
        });
        let [Some(one), Some(many)] = &found else {
            assert!(found.iter().all(Option::is_none), "{number}");
            continue;
        };
        assert_eq!(one.converged(), many.converged(), "{number}");
        if !one.converged() || one.flat.is_some() {
            continue;
        }
        assert!((one.nll - many.nll).abs() < 1e-10 * (1.0 + one.nll.abs()), "{number}");
        assert!(many.kkt < 1e-9 && many.edm < 1e-10, "{number}: {} {}", many.kkt, many.edm);
        assert_eq!(one.at_bound, many.at_bound, "{number}");
        let [of_one, of_many] = [one, many].map(|fit| fit.covariance.as_ref());
        let (Some(of_one), Some(of_many)) = (of_one, of_many) else {
            assert_eq!(of_one.is_none(), of_many.is_none(), "{number}");
            continue;
        };
        for parameter in 0..one.theta.len() {
            let [a, b] = [of_one.sigma(parameter), of_many.sigma(parameter)];
            let same = (a - b).abs() <= 1e-7 * a || (a.is_nan() && b.is_nan());
            assert!(same, "{number} {parameter}: {a} {b}");
            let apart = (one.theta[parameter] - many.theta[parameter]).abs();
            assert!(!(apart > 1e-6 * a), "{number} {parameter}: {apart}");
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}
