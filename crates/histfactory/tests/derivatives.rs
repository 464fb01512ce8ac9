//! Compares derivatives with finite differences.

#![expect(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails where it stands")]

mod shared;

use histfactory::{Data, Interpolation};
use shared::goldens;

#[test]
fn hessians_match_differences_of_gradients() {
    for golden in goldens() {
        let model = golden.model(Interpolation::default());
        let data = Data::new(&model, golden.numbers("data")).unwrap();
        for (index, point) in golden.json["points"].as_array().unwrap().iter().enumerate() {
            let mut theta = shared::floats(&point["pars"]);
            for mu in [None, Some(0.0)] {
                if let (Some(mu), Some(poi)) = (mu, model.poi()) {
                    theta[poi] = mu;
                }
                if model.nll(&theta, &data).is_err() {
                    continue;
                }
                let place = format!("{} point {index} mu {mu:?}", golden.name);
                check_hessian(&place, &model, &data, &theta);
            }
        }
    }
}

fn check_hessian(place: &str, model: &histfactory::Model, data: &Data, theta: &[f64]) {
    let hessian = model.hessian(theta, data).unwrap();
    let scale = hessian.as_slice().iter().fold(1.0_f64, |scale, value| scale.max(value.abs()));
    let count = theta.len();
    for column in (0..count).step_by(1 + count / 40) {
        let h = 1e-5;
        let at = |step: f64| {
            let mut theta = theta.to_vec();
            theta[column] += step;
            model.nll_and_gradient(&theta, data).unwrap().1
        };
        let (far_up, up, down, far_down) = (at(2.0 * h), at(h), at(-h), at(-2.0 * h));
        for row in 0..count {
            let slope = (8.0 * (up[row] - down[row]) - (far_up[row] - far_down[row])) / (12.0 * h);
            let ours = hessian.get(row, column);
            assert_eq!(ours, hessian.get(column, row));
            let error = (slope - ours).abs();
            assert!(error < 1e-7 * scale, "{place} {row} {column}: {ours} {slope}");
        }
    }
}
