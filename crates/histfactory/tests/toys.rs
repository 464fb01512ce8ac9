//! Pseudo-experiments: drawn alike by any number of threads, evaluated alike in batches.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::inference::TestKind;
use histfactory::synthetic::Twin;
use histfactory::toys::{BatchEvaluator, ToyFit, ToyOptions};
use histfactory::{FitOptions, Model, ModelOptions};

fn twin(twin: Twin) -> Model {
    Model::new(&twin.workspace(1), &ModelOptions::default()).unwrap()
}

fn fits(threads: usize, model: &Model) -> Vec<ToyFit> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let toys = ToyOptions { count: 40, seed: 3 };
    let found = pool.install(|| model.toy_fits(model.init(), &toys, &FitOptions::default()));
    found.unwrap().into_iter().map(Result::unwrap).collect()
}

#[test]
fn toys_do_not_depend_on_the_number_of_threads() {
    let model = twin(Twin::Small);
    let one = fits(1, &model);
    assert_eq!(one.len(), 40);
    assert!(one.iter().all(|toy| toy.fit.converged() && toy.fit.kkt < 1e-9));
    assert_eq!(one, fits(3, &model));
    assert_ne!(
        model.toy(model.init(), 3, 0).unwrap(),
        model.toy(model.init(), 4, 0).unwrap(),
        "another seed gives other data"
    );
}

#[test]
fn toys_scatter_around_what_they_were_drawn_from() {
    let model = twin(Twin::Small);
    let expected = model.expected_data(model.init()).unwrap();
    let toys = model.toys(model.init(), 2_000, 11).unwrap();
    for (place, expected) in expected.iter().enumerate() {
        let mean = toys.iter().map(|toy| toy.as_slice()[place]).sum::<f64>() / 2_000.0;
        let spread =
            toys.iter().map(|toy| (toy.as_slice()[place] - mean).powi(2)).sum::<f64>() / 2_000.0;
        let error = (spread / 2_000.0).sqrt();
        assert!((mean - expected).abs() < 5.0 * error + 1e-12, "{place}: {mean} {expected}");
    }
}

#[test]
fn a_batch_gives_what_single_evaluations_give_for_any_number_of_threads() {
    for (which, toys) in [(Twin::Small, 11), (Twin::Combination, 200)] {
        let model = twin(which);
        let toys = model.toys(model.init(), toys, 5).unwrap();
        let count = model.parameter_count();
        let mut points = Vec::new();
        for (number, _) in toys.iter().enumerate() {
            let shift = 0.001 * f64::from(u8::try_from(number).unwrap());
            points.extend(model.init().iter().map(|value| value + shift));
        }
        // Some parameters beyond the polynomial.
        points[count * 2] = 1.7;
        let pairs = points.chunks_exact(count).zip(&toys);
        let single: Vec<f64> = pairs.map(|(point, toy)| model.nll(point, toy).unwrap()).collect();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let batch = pool.install(|| BatchEvaluator::new(&model).nll(&points, &toys)).unwrap();
            assert_eq!(batch, single);
        }
    }
}

#[test]
fn of_the_points_of_a_batch_without_a_value_the_first_is_told() {
    let model = twin(Twin::Combination);
    let toys = model.toys(model.init(), 200, 5).unwrap();
    let count = model.parameter_count();
    let mut points = model.init().repeat(toys.len());
    let mut batch = BatchEvaluator::new(&model);
    assert!(batch.nll(&points[1..], &toys).is_err());
    points[count * 70] = f64::INFINITY;
    points[count * 170 + 1] = f64::INFINITY;
    let told = batch.nll(&points, &toys).unwrap_err();
    assert_eq!(told, batch.nll(&points[count * 64..count * 128], &toys[64..128]).unwrap_err());
}

#[test]
fn toy_p_values_agree_with_the_asymptotic_ones() {
    let model = twin(Twin::Small);
    let data = model.observed();
    let toys = ToyOptions { count: 1_500, seed: 1 };
    let by_toys = model.toy_test(data, 2.0, TestKind::QTilde, &toys, &|_| {}).unwrap();
    let asymptotic = model.hypotest(data, 2.0, TestKind::QTilde).unwrap().observed;
    assert_eq!(by_toys.failed, 0);
    assert!((by_toys.clsb - asymptotic.clsb).abs() < 0.05, "{} {}", by_toys.clsb, asymptotic.clsb);
    assert!((by_toys.clb - asymptotic.clb).abs() < 0.06, "{} {}", by_toys.clb, asymptotic.clb);
}
