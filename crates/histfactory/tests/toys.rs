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
fn a_batch_gives_what_single_evaluations_give() {
    for which in [Twin::Small, Twin::Combination] {
        let model = twin(which);
        let toys = model.toys(model.init(), 11, 5).unwrap();
        let count = model.parameter_count();
        let mut points = Vec::new();
        for (number, _) in toys.iter().enumerate() {
            let shift = 0.01 * f64::from(u8::try_from(number).unwrap());
            points.extend(model.init().iter().map(|value| value + shift));
        }
        // Some parameters beyond the polynomial.
        points[count * 2] = 1.7;
        let batch = BatchEvaluator::new(&model).nll(&points, &toys).unwrap();
        for ((point, toy), batched) in points.chunks_exact(count).zip(&toys).zip(batch) {
            let single = model.nll(point, toy).unwrap();
            assert!((single - batched).abs() < 1e-11 * (1.0 + single.abs()), "{single} {batched}");
        }
    }
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
