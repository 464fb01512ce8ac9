//! Compares gradients and Hessians with dual numbers in a direct implementation of the definition.

#![expect(
    clippy::unwrap_used,
    clippy::needless_range_loop,
    reason = "a test fails where it stands"
)]

use std::collections::BTreeMap;

use histfactory::model::Constraint;
use histfactory::workspace::Effect;
use histfactory::{Model, ModelOptions, Workspace};
use num_dual::{Dual2_64, Dual64, DualNum, HyperDual64};

const EVERY_MODIFIER: &[u8] = include_bytes!("data/every_modifier.json");

/// Code 4, straight from its conditions.
fn normsys<D: DualNum<Primitive = f64> + Copy>(alpha: D, hi: f64, lo: f64) -> D {
    if alpha.re() >= 1.0 {
        return (alpha * hi.ln()).exp();
    }
    if alpha.re() <= -1.0 {
        return (alpha * -lo.ln()).exp();
    }
    let (up, down) = (hi.ln(), lo.ln());
    let even = |value: f64, other: f64| f64::midpoint(value, other);
    let odd = |value: f64, other: f64| (value - other) / 2.0;
    // The even and the odd part of the polynomial each meet three conditions at one.
    let (s0, s1, s2) =
        (even(hi - 1.0, lo - 1.0), even(hi * up, lo * down), even(hi * up * up, lo * down * down));
    let (a0, a1, a2) =
        (odd(hi - 1.0, lo - 1.0), odd(hi * up, lo * down), odd(hi * up * up, lo * down * down));
    let a6 = (s2 - 5.0 * s1 + 8.0 * s0) / 8.0;
    let a4 = (s1 - 2.0 * s0 - 4.0 * a6) / 2.0;
    let a2nd = s0 - a4 - a6;
    let a5 = (a2 - 3.0 * a1 + 3.0 * a0) / 8.0;
    let a3 = (a1 - a0 - 4.0 * a5) / 2.0;
    let a1st = a0 - a3 - a5;
    let square = alpha * alpha;
    let of_odd = alpha * (square * (square * a5 + a3) + a1st);
    of_odd + square * (square * (square * a6 + a4) + a2nd) + 1.0
}

/// Code 4p.
fn histosys<D: DualNum<Primitive = f64> + Copy>(alpha: D, [lo, nominal, hi]: [f64; 3]) -> D {
    if alpha.re() > 1.0 {
        return alpha * (hi - nominal);
    }
    if alpha.re() < -1.0 {
        return alpha * (nominal - lo);
    }
    let square = alpha * alpha;
    let bend = square * (square * (square * 3.0 - 10.0) + 15.0);
    alpha * ((hi - lo) / 2.0) + bend * ((hi + lo - 2.0 * nominal) / 16.0)
}

/// −log L without the terms that do not depend on parameters.
fn nll<D: DualNum<Primitive = f64> + Copy>(workspace: &Workspace, model: &Model, theta: &[D]) -> D {
    let at: BTreeMap<&str, usize> =
        model.parameter_sets().map(|(name, range)| (name, range.start)).collect();
    let mut sum = D::from(0.0);
    for channel in &workspace.channels {
        let observed = workspace.observations.iter().find(|seen| seen.name == channel.name);
        for (bin, n) in observed.unwrap().data.iter().enumerate() {
            let mut rate = D::from(0.0);
            for sample in &channel.samples {
                let mut factor = D::from(1.0);
                let mut shape = D::from(sample.data[bin]);
                for modifier in &sample.modifiers {
                    let first = at[modifier.name.as_str()];
                    match &modifier.effect {
                        Effect::Normfactor | Effect::Lumi => factor *= theta[first],
                        Effect::Normsys { lo, hi } => factor *= normsys(theta[first], *hi, *lo),
                        Effect::Histosys { lo, hi } => {
                            shape += histosys(theta[first], [lo[bin], sample.data[bin], hi[bin]]);
                        }
                        Effect::Shapefactor | Effect::Shapesys(_) | Effect::Staterror(_) => {
                            factor *= theta[first + bin];
                        }
                    }
                }
                rate += factor * shape;
            }
            sum += rate - rate.ln() * *n;
        }
    }
    for (parameter, value) in model.parameters().zip(theta) {
        let auxiliary = model.observed().auxiliary();
        match parameter.constraint {
            Constraint::Free => {}
            Constraint::Normal { auxiliary: at, sigma } => {
                let distance = (*value - auxiliary[at]) / sigma;
                sum += distance * distance * 0.5;
            }
            Constraint::Poisson { auxiliary: at, factor } => {
                let rate = *value * factor;
                sum += rate - rate.ln() * auxiliary[at];
            }
        }
    }
    sum
}

fn points(model: &Model) -> Vec<Vec<f64>> {
    let shifted = |size: f64, turn: f64| -> Vec<f64> {
        let values = model.init().iter().zip(0_u32..);
        values.map(|(value, index)| value + size * (turn * f64::from(index)).sin()).collect()
    };
    let mut outside = shifted(0.3, 1.3);
    // Beyond the polynomials, on both sides.
    for (index, name) in ["shared", "ttbar_shape", "signal_norm"].into_iter().enumerate() {
        outside[model.index_of(name).unwrap()] = [1.8, -2.3, -1.2][index];
    }
    vec![model.init().to_vec(), shifted(0.2, 2.1), shifted(0.6, 0.7), outside]
}

#[test]
fn gradients_and_hessians_match_dual_numbers() {
    let workspace = Workspace::from_slice(EVERY_MODIFIER).unwrap();
    let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
    check(&workspace, &model, &points(&model));
}

/// Kernels process bins in fours and eights, and the rest separately.
#[test]
fn derivatives_match_dual_numbers_for_any_number_of_bins() {
    for bins in 1..=19 {
        let workspace = Workspace::from_slice(of_bins(bins).as_bytes()).unwrap();
        let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
        let theta: Vec<f64> = model.init().iter().map(|value| value + 0.3).collect();
        check(&workspace, &model, &[theta]);
    }
}

/// Three samples with this number of bins, followed by another channel.
fn of_bins(bins: usize) -> String {
    let yields = |scale: f64, turn: f64, bins: usize| -> Vec<f64> {
        let values = (0_u32..).take(bins);
        values.map(|bin| scale * (2.0 + (turn * f64::from(bin)).sin())).collect()
    };
    let sample = |name: &str, scale: f64, own: &str, bins: usize| {
        let [data, hi, lo, error] = [[1.0, 0.3], [1.2, 0.4], [0.9, 0.5], [0.1, 0.6]]
            .map(|[s, t]| yields(scale * s, t, bins));
        format!(
            r#"{{"name": "{name}", "data": {data:?}, "modifiers": [{own}
            {{"name": "tilt", "type": "histosys", "data": {{"hi_data": {hi:?}, "lo_data": {lo:?}}}}},
            {{"name": "{name}_tilt", "type": "histosys", "data": {{"hi_data": {lo:?}, "lo_data": {data:?}}}}},
            {{"name": "size", "type": "normsys", "data": {{"hi": 1.1, "lo": 0.8}}}},
            {{"name": "{name}_size", "type": "normsys", "data": {{"hi": 0.9, "lo": 1.2}}}},
            {{"name": "error_{bins}", "type": "staterror", "data": {error:?}}}]}}"#
        )
    };
    let mu = r#"{"name": "mu", "type": "normfactor", "data": null},"#;
    let [signal, one, two] = [("signal", 3.0, mu), ("one", 20.0, ""), ("two", 7.0, "")]
        .map(|(n, s, m)| sample(n, s, m, bins));
    let other = sample("other", 11.0, "", 20);
    let (seen, also_seen) = (yields(31.0, 0.7, bins), yields(11.0, 0.7, 20));
    format!(
        r#"{{"channels": [{{"name": "a", "samples": [{signal}, {one}, {two}]}},
                          {{"name": "b", "samples": [{other}]}}],
            "observations": [{{"name": "a", "data": {seen:?}}}, {{"name": "b", "data": {also_seen:?}}}],
            "measurements": [{{"name": "m", "config": {{"poi": "mu", "parameters": []}}}}],
            "version": "1.0.0"}}"#
    )
}

/// Compares value, gradient and Hessian with those of dual numbers.
fn check(workspace: &Workspace, model: &Model, points: &[Vec<f64>]) {
    for theta in points {
        let (value, gradient) = model.nll_and_gradient(theta, model.observed()).unwrap();
        let hessian = model.hessian(theta, model.observed()).unwrap();
        let constant = model.nll(model.init(), model.observed()).unwrap()
            - nll::<f64>(workspace, model, model.init());
        let theirs: f64 = nll(workspace, model, theta);
        assert!((value - theirs - constant).abs() < 1e-11 * value.abs());
        for i in 0..theta.len() {
            let along: Vec<Dual64> = (0..theta.len())
                .map(|k| Dual64::new(theta[k], f64::from(u8::from(k == i))))
                .collect();
            let slope = nll(workspace, model, &along).eps;
            assert!((gradient[i] - slope).abs() < 1e-10 * (1.0 + slope.abs()), "{i}: {slope}");
            let twice: Vec<Dual2_64> = (0..theta.len())
                .map(|k| Dual2_64::new(theta[k], f64::from(u8::from(k == i)), 0.0))
                .collect();
            let second = nll(workspace, model, &twice).v2;
            assert!((hessian.get(i, i) - second).abs() < 1e-9 * (1.0 + second.abs()));
            for j in 0..i {
                let pair: Vec<HyperDual64> = (0..theta.len())
                    .map(|k| {
                        let [one, two] = [i, j].map(|at| f64::from(u8::from(k == at)));
                        HyperDual64::new(theta[k], one, two, 0.0)
                    })
                    .collect();
                let mixed = nll(workspace, model, &pair).eps1eps2;
                let ours = hessian.get(i, j);
                assert!(
                    (ours - mixed).abs() < 1e-9 * (1.0 + mixed.abs()),
                    "{i} {j}: {ours} {mixed}"
                );
            }
        }
    }
}
