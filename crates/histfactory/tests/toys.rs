//! Pseudo-experiments: drawn identically by any number of threads, evaluated identically in batches.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::inference::TestKind;
use histfactory::synthetic::{Limits, Twin, any};
use histfactory::toys::{BatchEvaluator, Shard, ToyFit, ToyOptions};
use histfactory::{FitOptions, Interpolation, Model, ModelOptions, Workspace};

fn twin(twin: Twin) -> Model {
    Model::new(&twin.workspace(1), &ModelOptions::default()).unwrap()
}

fn fits(threads: usize, count: u64, model: &Model, options: &FitOptions) -> Vec<ToyFit> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let toys = ToyOptions::new(count, 3);
    let found = pool.install(|| model.toy_fits(model.init(), &toys, options));
    found.unwrap().into_iter().map(Result::unwrap).collect()
}

#[test]
fn toys_do_not_depend_on_the_number_of_threads() {
    let model = twin(Twin::Small);
    let one = fits(1, 40, &model, &FitOptions::default());
    assert_eq!(one.len(), 40);
    assert!(one.iter().all(|toy| toy.fit.converged() && toy.fit.kkt < 1e-9));
    assert_eq!(one, fits(3, 40, &model, &FitOptions::default()));
    assert_ne!(
        model.toy(model.init(), 3, 0).unwrap(),
        model.toy(model.init(), 4, 0).unwrap(),
        "another seed gives other data"
    );
}

#[test]
fn a_toy_does_not_depend_on_other_toys() {
    for which in Twin::ALL {
        let count = if which == Twin::Small { 40 } else { 19 };
        let model = twin(which);
        let options = FitOptions::default();
        let all = fits(1, count, &model, &options);
        for (threads, count) in [(1, 1), (1, 2), (2, 6), (2, 15), (3, 17), (4, count)] {
            let some = fits(threads, count, &model, &options);
            assert_eq!(all[..some.len()], some, "{}: {count} toys", which.as_str());
        }
    }
}

/// Compares fits of toys with fits of the same data one by one.
fn compare(name: &str, model: &Model, count: u64, options: &FitOptions) {
    let theta = options.start.clone().unwrap_or_else(|| model.init().to_vec());
    let one_by_one = options.clone().from(&theta);
    for toy in fits(2, count, model, options) {
        let data = model.toy(model.init(), 3, toy.number).unwrap();
        let alone = model.fit(&data, &one_by_one).unwrap();
        let place = format!("{name}, toy {}", toy.number);
        assert!(toy.fit.converged() && alone.converged(), "{place}");
        assert!((toy.fit.nll - alone.nll).abs() < 1e-9, "{place}: {} {}", toy.fit.nll, alone.nll);
        assert_eq!((&toy.fit.at_bound, &toy.fit.at_kink), (&alone.at_bound, &alone.at_kink));
        assert_eq!(toy.fit.free, alone.free);
        for &(parameter, value) in &options.fixed {
            assert_eq!(toy.fit.theta[parameter].to_bits(), value.to_bits());
        }
        assert!(toy.fit.edm < 1e-12, "{place}");
    }
}

#[test]
fn toys_reach_the_minima_of_single_fits() {
    for which in Twin::ALL {
        let model = twin(which);
        let poi = model.poi().unwrap();
        let count = if which == Twin::Combination { 12 } else { 24 };
        compare(which.as_str(), &model, count, &FitOptions::default());
        // At a bound, which some of them leave; with a fixed parameter; elsewhere.
        let mut start = model.init().to_vec();
        start[poi] = 0.0;
        compare(which.as_str(), &model, count, &FitOptions::default().from(&start));
        compare(which.as_str(), &model, 8, &FitOptions::default().fixing(poi, 0.7));
        let bounded = FitOptions::default().bounding(poi, [0.9, 1.1]);
        compare(which.as_str(), &model, 8, &bounded);
    }
    let workspace = include_bytes!("data/two_bins.json");
    let workspace = Workspace::from_slice(workspace).unwrap();
    for interpolation in [Interpolation::default(), Interpolation::PIECEWISE] {
        let options = ModelOptions { interpolation, ..ModelOptions::default() };
        compare("two bins", &Model::new(&workspace, &options).unwrap(), 40, &FitOptions::default());
        let small = Model::new(&Twin::Small.workspace(2), &options).unwrap();
        compare("kinks", &small, 40, &FitOptions::default());
    }
}

/// Empty bins, rates below zero, factors that vanish, kinks: a toy gives the same result alone and with
/// others.
#[test]
fn toys_of_arbitrary_workspaces_end_like_single_fits() {
    let mut compared = 0;
    for seed in 0..60 {
        let modifiers = 5 + 15 * usize::try_from(seed % 3).unwrap();
        let limits = Limits { modifiers, odd: seed % 2 == 0, ..Limits::default() };
        let workspace = any(seed, limits);
        for interpolation in [Interpolation::default(), Interpolation::PIECEWISE] {
            let options = ModelOptions { interpolation, ..ModelOptions::default() };
            let model = Model::new(&workspace, &options).unwrap();
            let toys = ToyOptions::new(6, seed);
            let Ok(found) = model.toy_fits(model.init(), &toys, &FitOptions::default()) else {
                assert!(model.toy(model.init(), seed, 0).is_err());
                continue;
            };
            for (number, toy) in found.into_iter().enumerate() {
                let data = model.toy(model.init(), seed, number as u64).unwrap();
                let alone = model.fit(&data, &FitOptions::default().from(model.init()));
                let (Ok(toy), Ok(alone)) = (&toy, &alone) else {
                    assert_eq!(toy.is_ok(), alone.is_ok(), "seed {seed}, toy {number}");
                    continue;
                };
                assert_eq!(toy.fit.converged(), alone.converged(), "seed {seed}, toy {number}");
                let difference = toy.fit.nll - alone.nll;
                assert!(!alone.converged() || difference.abs() < 1e-9, "seed {seed}: {difference}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn the_distance_of_a_toy_uses_the_exact_curvature() {
    let model = twin(Twin::Search);
    for toy in fits(1, 24, &model, &FitOptions { tolerance: 1e-5, ..FitOptions::default() }) {
        let data = model.toy(model.init(), 3, toy.number).unwrap();
        let options = FitOptions::default().from(&toy.fit.theta);
        let best = model.fit(&data, &options).unwrap();
        let above = toy.fit.nll - best.nll;
        let edm = toy.fit.edm;
        assert!(edm > 0.2 * above - 1e-13 && edm < 5.0 * above + 1e-13, "{edm} {above}");
    }
}

#[test]
fn test_statistics_of_toys_equal_those_of_single_fits() {
    for which in [Twin::Small, Twin::Search] {
        let model = twin(which);
        let toys = ToyOptions::new(20, 3);
        let found = model.toy_statistics(model.init(), 1.5, TestKind::QTilde, &toys, &|_| {});
        for (number, found) in found.unwrap().into_iter().enumerate() {
            let data = model.toy(model.init(), 3, number as u64).unwrap();
            let alone = model.test_statistic(&data, TestKind::QTilde, 1.5).unwrap();
            assert!((found.unwrap() - alone.value).abs() < 1e-8, "{}", which.as_str());
        }
    }
}

#[test]
fn toys_scatter_around_their_parameters() {
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
fn a_batch_equals_single_evaluations_for_any_number_of_threads() {
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
        let single = pairs.map(|(point, toy)| model.nll_and_gradient(point, toy).unwrap());
        let (single, slopes): (Vec<f64>, Vec<Vec<f64>>) = single.unzip();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut batch = BatchEvaluator::new(&model);
            pool.install(|| {
                assert_eq!(batch.nll(&points, &toys).unwrap(), single);
                let (nlls, gradients) = batch.nll_and_gradient(&points, &toys).unwrap();
                assert_eq!(nlls, single);
                assert_eq!(gradients, slopes.concat());
                assert_eq!(batch.nll_and_gradient(&[], &[]).unwrap(), Default::default());
            });
        }
    }
}

#[test]
fn the_first_point_of_a_batch_without_a_value_is_reported() {
    let model = twin(Twin::Combination);
    let toys = model.toys(model.init(), 200, 5).unwrap();
    let count = model.parameter_count();
    let mut points = model.init().repeat(toys.len());
    let mut batch = BatchEvaluator::new(&model);
    assert!(batch.nll(&points[1..], &toys).is_err());
    points[count * 70] = f64::INFINITY;
    points[count * 170 + 1] = f64::INFINITY;
    let reported = batch.nll(&points, &toys).unwrap_err();
    assert_eq!(reported, batch.nll(&points[count * 64..count * 128], &toys[64..128]).unwrap_err());
    assert_eq!(reported, batch.nll_and_gradient(&points, &toys).unwrap_err());
}

#[test]
fn toy_p_values_agree_with_the_asymptotic_ones() {
    let model = twin(Twin::Small);
    let data = model.observed();
    let toys = ToyOptions::new(1_500, 1);
    let by_toys = model.toy_test(data, 2.0, TestKind::QTilde, &toys, &|_| {}).unwrap();
    let asymptotic = model.hypotest(data, 2.0, TestKind::QTilde).unwrap().observed;
    assert_eq!(by_toys.failed, 0);
    assert!((by_toys.clsb - asymptotic.clsb).abs() < 0.05, "{} {}", by_toys.clsb, asymptotic.clsb);
    assert!((by_toys.clb - asymptotic.clb).abs() < 0.06, "{} {}", by_toys.clb, asymptotic.clb);
}

#[test]
fn every_toy_can_have_a_covariance() {
    let model = Model::new(&Twin::Small.workspace(1), &ModelOptions::default()).unwrap();
    let toys = ToyOptions::new(40, 2);
    let options = FitOptions::default().with_covariance();
    let poi = model.poi().unwrap();
    let found = model.toy_fits(model.init(), &toys, &options).unwrap();
    for toy in found {
        let toy = toy.unwrap();
        let data = model.toy(model.init(), toys.seed, toy.number).unwrap();
        let alone = model.fit(&data, &options.clone().from(model.init())).unwrap();
        let [one, two] = [&toy.fit, &alone].map(|fit| fit.covariance.as_ref().unwrap().sigma(poi));
        assert_eq!(one.is_nan(), two.is_nan());
        assert!(one.is_nan() || (one - two).abs() < 1e-6 * two, "{}: {one} {two}", toy.number);
    }
}

/// Shards whose edges lie within the blocks that threads and vectors process at a time.
#[test]
fn toys_in_shards_equal_those_in_one_piece_bitwise() {
    let model = twin(Twin::Combination);
    let whole = ToyOptions::new(101, 9);
    let fit = |toys: ToyOptions| -> Vec<(u64, u64, Vec<u64>)> {
        let fits = model.toy_fits(model.init(), &toys, &FitOptions::default()).unwrap();
        let bits = |toy: ToyFit| {
            let theta = toy.fit.theta.iter().map(|value| value.to_bits()).collect();
            (toy.number, toy.fit.nll.to_bits(), theta)
        };
        fits.into_iter().map(|toy| bits(toy.unwrap())).collect()
    };
    let expected = fit(whole);
    assert_eq!(expected.len(), 101);
    for count in [2, 7] {
        let shards = (1..=count).map(|index| Shard::new(index, count).unwrap());
        let found: Vec<_> = shards.flat_map(|shard| fit(whole.in_shard(shard))).collect();
        assert_eq!(found, expected, "{count} shards");
    }
}
