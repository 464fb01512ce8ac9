//! Compares the likelihood and its gradient with pyhf's, at stored points.
//!
//! Goldens of third-party workspaces are not in the repository. The folder is searched beside the checkout
//! (`shared/data`) and in `HISTFACTORY_SHARED_DATA`; without it those tests print a note and pass.

#![expect(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails where it stands")]

mod shared;

use histfactory::{Data, Interpolation, Model};
use shared::{goldens, relative};

#[test]
fn layout_matches_pyhf() {
    for golden in goldens() {
        let model = golden.model(Interpolation::default());
        assert_eq!(model.parameter_names(), golden.strings("par_names"), "{}", golden.name);
        assert_eq!(model.init(), golden.numbers("init"));
        let sets: Vec<&str> = model.parameter_sets().map(|(name, _)| name).collect();
        assert_eq!(sets, golden.strings("par_order"));
        let channels: Vec<&str> = model.channels().map(|(name, _)| name).collect();
        assert_eq!(channels, golden.strings("channels"));
        assert_eq!(model.samples(), golden.strings("samples"));
        let bounds: Vec<Vec<f64>> = model.bounds().iter().map(|pair| pair.to_vec()).collect();
        assert_eq!(serde_json::json!(bounds), golden.json["bounds"]);
        assert_eq!(serde_json::json!(model.fixed()), golden.json["fixed"]);
        assert_eq!(model.poi().map(|poi| poi as u64), golden.json["poi_index"].as_u64());
        assert_eq!(model.bin_count() as u64, golden.json["nmain"].as_u64().unwrap());
        for (ours, theirs) in model.observed().as_slice().iter().zip(golden.numbers("data")) {
            assert!(relative(*ours, theirs) < 1e-14, "{}: {ours} {theirs}", golden.name);
        }
    }
}

#[test]
fn values_and_gradients_match_pyhf_at_every_point() {
    for golden in goldens() {
        for (mode, interpolation) in
            [("code4_code4p", Interpolation::default()), ("code1_code0", Interpolation::PIECEWISE)]
        {
            let model = golden.model(interpolation);
            let data = Data::new(&model, golden.numbers("data")).unwrap();
            let points = golden.json["points"].as_array().unwrap();
            assert!(!points.is_empty());
            for (index, point) in points.iter().enumerate() {
                let place = format!("{} {mode} point {index}", golden.name);
                let theta = shared::floats(&point["pars"]);
                let reference = &point[mode];
                check_point(&place, &model, &data, &theta, reference);
            }
        }
    }
}

fn check_point(
    place: &str,
    model: &Model,
    data: &Data,
    theta: &[f64],
    reference: &serde_json::Value,
) {
    let Some(expected_nll) = reference["nll"].as_f64() else {
        assert!(model.nll(theta, data).is_err(), "{place}: pyhf has no value here");
        return;
    };
    let (nll, gradient) = model.nll_and_gradient(theta, data).unwrap();
    assert!(relative(nll, expected_nll) < 1e-12, "{place}: {nll} {expected_nll}");
    assert_eq!(nll, model.nll(theta, data).unwrap());
    let expected = shared::floats(&reference["expected"]);
    for (ours, theirs) in model.expected_data(theta).unwrap().iter().zip(&expected) {
        assert!(relative(*ours, *theirs) < 1e-13, "{place}: {ours} {theirs}");
    }
    let theirs = shared::floats(&reference["grad_nll"]);
    let scale = theirs.iter().fold(1.0_f64, |scale, value| scale.max(value.abs()));
    let kink = model.interpolation() == Interpolation::PIECEWISE;
    for (index, (ours, theirs)) in gradient.iter().zip(&theirs).enumerate() {
        if kink && theta[index] == 0.0 {
            // lo^|α| has no derivative at zero. Automatic differentiation takes that of |α| to be one there,
            // which has the wrong sign on the left. Our derivative is the left one.
            left_derivative(place, model, data, theta, index, *ours);
            continue;
        }
        let error = (ours - theirs).abs();
        assert!(error < 1e-10 * scale, "{place}, parameter {index}: {ours} {theirs}");
    }
}

fn left_derivative(
    place: &str,
    model: &Model,
    data: &Data,
    theta: &[f64],
    index: usize,
    ours: f64,
) {
    let at = |step: f64| {
        let mut theta = theta.to_vec();
        theta[index] -= step;
        model.nll(&theta, data).unwrap()
    };
    let h = 1e-4;
    let slope = (3.0 * at(0.0) - 4.0 * at(h) + at(2.0 * h)) / (2.0 * h);
    assert!((slope - ours).abs() < 1e-5 * (1.0 + ours.abs()), "{place}: {slope} {ours}");
}
