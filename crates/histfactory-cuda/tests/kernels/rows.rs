//! Rows of the kernels beside the CPU's own functions. The kernels run on the processor, in a driver of the tests.

use std::sync::{Arc, RwLockReadGuard};

use histfactory::derivative::Convention;
use histfactory::fit::Search;
use histfactory::inference::{Dataset, TestKind};
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::synthetic::{Limits, Twin, any};
use histfactory::toys::ToyOptions;
use histfactory::{Data, FitOptions, Model, ModelOptions};
use histfactory_cuda::{Device, DeviceLoss, DeviceModel, Status};

use crate::driver;

/// A device, and the promise that no test plants faults meanwhile.
fn device() -> (Arc<Device>, RwLockReadGuard<'static, ()>) {
    let usual = driver::usual();
    (Device::open(0).expect("the tests' driver has a device"), usual)
}

fn twin(twin: Twin) -> Model {
    Model::new(&twin.workspace(1), &ModelOptions::default()).expect("valid")
}

/// The made-up models and random ones with every kind of modifier.
fn models() -> Vec<(String, Model)> {
    let twins = Twin::ALL.map(|made| (made.as_str().to_owned(), twin(made)));
    let random = (0..60).filter_map(|seed| {
        let limits = Limits { channels: 3, bins: 8, samples: 4, modifiers: 6, odd: false };
        let model = Model::new(&any(seed, limits), &ModelOptions::default()).ok()?;
        Some((format!("random {seed}"), model))
    });
    twins.into_iter().chain(random).collect()
}

/// A point away from the initial values, another one for each row.
fn point(model: &Model, row: usize) -> Vec<f64> {
    const STEPS: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];
    const SIZES: [f64; 4] = [0.0, 0.3, 0.6, 0.9];
    let moved = model.init().iter().zip(model.bounds()).enumerate();
    moved
        .map(|(at, (init, [low, high]))| {
            let step = SIZES[row % 4] * STEPS[at * 7 % 5];
            (init + step * init.abs().max(0.5)).clamp(low.max(-3.0), high.min(5.0))
        })
        .collect()
}

#[test]
fn values_and_gradients_are_those_of_the_cpu() {
    let (device, _usual) = device();
    let mut compared = 0;
    for (name, model) in models() {
        let on_device = DeviceModel::new(&device, &model).expect("the kernels support the model");
        let points: Vec<Vec<f64>> = (0..4).map(|row| point(&model, row)).collect();
        let data = vec![model.observed().clone(); points.len()];
        let (nll, gradient) =
            on_device.nll_and_gradient(&points.concat(), &data).expect("the rows run");
        for (row, point) in points.iter().enumerate() {
            let Ok((expected, slopes)) = model.nll_and_gradient(point, &data[row]) else {
                continue;
            };
            compared += 1;
            let error = (nll[row] - expected).abs();
            assert!(error <= 1e-12 * expected.abs().max(1.0), "{name}: {} {expected}", nll[row]);
            let largest = slopes.iter().fold(1.0_f64, |most, slope| most.max(slope.abs()));
            for (at, (ours, theirs)) in
                gradient[row * point.len()..].iter().zip(&slopes).enumerate()
            {
                assert!((ours - theirs).abs() <= 1e-10 * largest, "{name} {at}: {ours} {theirs}");
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn fits_end_at_a_minimum_that_the_cpu_confirms() {
    let (device, _usual) = device();
    let mut converged = 0;
    for (name, model) in models() {
        let on_device = DeviceModel::new(&device, &model).expect("the kernels support the model");
        let data = model.observed();
        for held in [None, model.poi().map(|_| 0.0)] {
            let mut options = FitOptions::default().searching(Search::Descent);
            if let (Some(value), Some(poi)) = (held, model.poi()) {
                options = options.fixing(poi, value);
            }
            let Ok(expected) = model.fit(data, &options) else { continue };
            let found = on_device
                .descend(model.init(), std::slice::from_ref(data), held)
                .expect("the rows run")
                .remove(0);
            if found.status != Status::Converged || !expected.converged() {
                continue;
            }
            converged += 1;
            assert!(found.kkt < 1e-9, "{name}: {}", found.kkt);
            assert!(found.nll <= expected.nll + 1e-9 * expected.nll.abs().max(1.0), "{name}");
            let there = model.nll(&found.theta, data).expect("a valid point");
            assert!((found.nll - there).abs() <= 1e-12 * there.abs().max(1.0), "{name}");
        }
    }
    assert!(converged > 60, "{converged}");
}

#[test]
fn toys_have_the_data_and_the_statistics_of_the_cpu() {
    let (device, _usual) = device();
    for made in [Twin::Small, Twin::Combination] {
        let model = twin(made);
        let poi = model.poi().expect("a parameter of interest");
        let on_device = DeviceModel::new(&device, &model).expect("the kernels support the model");
        for (kind, mu) in [(TestKind::Q0, 0.0), (TestKind::QTilde, 1.0)] {
            let mut theta = model.init().to_vec();
            theta[poi] = mu;
            let toys = ToyOptions { first: 5, count: 40, seed: 11 };
            let raw = on_device.raw_toys(&model, &theta, mu, kind, &toys, true).expect("they run");
            let length = model.observed().as_slice().len();
            for row in 0..40_usize {
                let data = model.toy(&theta, 11, 5 + row as u64).expect("a toy");
                for (ours, theirs) in raw.data[row * length..].iter().zip(data.as_slice()) {
                    assert!(
                        (ours - theirs).abs() <= 1e-13 * (1.0 + theirs.abs()),
                        "{ours} {theirs}"
                    );
                }
            }
            let whole =
                on_device.toy_statistics(&model, &theta, mu, kind, &toys).expect("they run");
            let expected =
                model.toy_statistics(&theta, mu, kind, &toys, &|_| {}).expect("they run");
            assert!(whole.on_cpu <= 2, "{} of 40 toys were left to the CPU", whole.on_cpu);
            for (row, (ours, theirs)) in whole.statistics.iter().zip(&expected).enumerate() {
                let (ours, theirs) = (ours.expect("a value"), theirs.expect("a value"));
                assert!((ours - theirs).abs() < 1e-7, "{kind:?} {row}: {ours} {theirs}");
            }
        }
    }
}

/// The first six samples of channels.
fn inputs(model: &Model) -> Vec<Input> {
    let all = model.channels().flat_map(|(channel, _)| {
        let samples =
            model.samples().iter().filter(move |sample| model.has_sample(channel, sample));
        samples.map(move |sample| Input::Nominal {
            channel: channel.to_owned(),
            sample: sample.clone(),
        })
    });
    all.take(6).collect()
}

#[test]
fn losses_and_their_slopes_are_those_of_the_cpu() {
    let (device, _usual) = device();
    let (mut compared, mut left) = (0, 0);
    for (name, model) in models() {
        if model.poi().is_none() {
            continue;
        }
        for convention in [Convention::TemplatesFixed, Convention::TemplatesRide] {
            let quantity = Quantity::Significance { dataset: Dataset::default(), smooth: 0.0 };
            let made = Objective::new(&model, quantity, &inputs(&model), convention);
            let Ok(objective) = made else { continue };
            let Ok(loss) = DeviceLoss::new(&device, &objective) else { continue };
            let rows: Vec<Vec<f64>> = [1.0, 1.1, 0.9]
                .iter()
                .map(|scale| objective.current().iter().map(|value| scale * value).collect())
                .collect();
            let found = loss.evaluate(&rows.concat()).expect("the rows run");
            for (row, x) in rows.iter().enumerate() {
                let mut expected = vec![0.0; x.len()];
                let Ok(z) = objective.evaluate(x, Some(&mut expected)) else { continue };
                if found.status[row] != Status::Converged {
                    left += 1;
                    assert!(found.values[row].is_nan(), "{name}");
                    assert!(
                        found.slopes[row * x.len()..][..x.len()].iter().all(|slope| *slope == 0.0)
                    );
                    continue;
                }
                compared += 1;
                let value = found.values[row];
                assert!((value - z).abs() < 1e-9 * (1.0 + z), "{name}: {value} {z}");
                let largest = expected.iter().fold(1e-3_f64, |most, slope| most.max(slope.abs()));
                for (at, (ours, theirs)) in
                    found.slopes[row * x.len()..].iter().zip(&expected).enumerate()
                {
                    let error = (ours - theirs).abs();
                    let place = format!("{name} {convention:?} {row} {at}");
                    assert!(error < 1e-8 * largest, "{place}: {ours} {theirs}");
                }
            }
        }
    }
    assert!(compared > 100 && 10 * left < compared, "{compared}, {left} left to the CPU");
}

/// Yields far from those of the model: curvatures there are not the expected ones, and rounding hides the last steps.
#[test]
fn losses_converge_far_from_the_models_own_yields() {
    let (device, _usual) = device();
    for made in [Twin::Small, Twin::Combination, Twin::Search] {
        let model = twin(made);
        let quantity = Quantity::Significance { dataset: Dataset::default(), smooth: 0.0 };
        let objective =
            Objective::new(&model, quantity, &inputs(&model), Convention::TemplatesFixed)
                .expect("valid inputs");
        let loss = DeviceLoss::new(&device, &objective).expect("the kernels support it");
        let current = objective.current();
        let rows: Vec<f64> = (0..60_u8)
            .flat_map(|row| {
                let size = 0.3 * 10.0_f64.powf(f64::from(row) / 60.0);
                current
                    .iter()
                    .enumerate()
                    .map(move |(at, value)| value * if at % 2 == 0 { size } else { 1.0 / size })
            })
            .collect();
        let found = loss.evaluate(&rows).expect("the rows run");
        let converged = found.status.iter().filter(|status| **status == Status::Converged).count();
        assert_eq!(converged, 60, "{}: {:?}", made.as_str(), found.status);
    }
}

#[test]
fn one_bad_row_is_nan_and_the_others_have_values() {
    let model = twin(Twin::Small);
    let quantity = Quantity::Significance { dataset: Dataset::default(), smooth: 0.0 };
    let objective = Objective::new(&model, quantity, &inputs(&model), Convention::TemplatesFixed)
        .expect("valid inputs");
    let (device, _usual) = device();
    let loss = DeviceLoss::new(&device, &objective).expect("the kernels support it");
    let good = objective.current();
    let bad = vec![f64::NAN; good.len()];
    let found =
        loss.evaluate(&[good.as_slice(), &bad, good.as_slice()].concat()).expect("they run");
    assert_eq!(found.status, [Status::Converged, Status::NoStart, Status::Converged]);
    assert!(found.values[1].is_nan());
    assert_eq!(found.values[0].to_bits(), found.values[2].to_bits());
    assert_eq!(found.slopes[..good.len()], found.slopes[2 * good.len()..]);
}

/// A row has the same result alone, among others, and in whatever block it runs.
#[test]
fn results_do_not_depend_on_the_other_rows() {
    let model = twin(Twin::Combination);
    let (device, _usual) = device();
    let on_device = DeviceModel::new(&device, &model).expect("the kernels support the model");
    let data: Vec<Data> = model.toys(model.init(), 20, 3).expect("toys");
    let together = on_device.descend(model.init(), &data, None).expect("they run");
    for (row, fit) in data.iter().zip(&together) {
        let alone = on_device.descend(model.init(), std::slice::from_ref(row), None);
        assert_eq!(alone.expect("it runs")[0], *fit);
    }
}
