//! Compares the GPU with the CPU's cores: accuracy, toys and losses, as a table.
//!
//! `cargo run --release -p histfactory-cuda --example gpu`

#![expect(clippy::print_stdout, reason = "a table for whoever started it")]

use std::time::Instant;

use histfactory::fit::Search;
use histfactory::inference::{Dataset, TestKind};
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::synthetic::{Limits, Twin, any};
use histfactory::toys::ToyOptions;
use histfactory::{FitOptions, Model, ModelOptions};
use histfactory_cuda::{Device, DeviceLoss, DeviceModel, LossRows, Scratch, Status, Stream};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let started = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let kernels = arguments.iter().find_map(|argument| argument.strip_prefix("--kernels="));
    let kernels = kernels.map(std::fs::read).transpose()?;
    let device = Device::open_with(0, kernels.as_deref())?;
    println!(
        "{} sm_{}, opened in {:.1} ms, {} cores",
        device.name()?,
        device.architecture(),
        1e3 * started.elapsed().as_secs_f64(),
        std::thread::available_parallelism()?
    );
    if has("--speed") {
        for twin in [Twin::Small, Twin::Combination] {
            speed(&device, twin)?;
            losses(&device, twin)?;
        }
        return Ok(());
    }
    for twin in Twin::ALL {
        accuracy(
            &device,
            twin.as_str(),
            &Model::new(&twin.workspace(1), &ModelOptions::default())?,
        )?;
    }
    random(&device)?;
    for twin in [Twin::Small, Twin::Combination] {
        speed(&device, twin)?;
        toys(&device, twin, 10_000)?;
        losses(&device, twin)?;
    }
    Ok(())
}

/// What is left of a division, as a part of the divisor.
fn fraction(number: usize, divisor: u8) -> f64 {
    let rest = u8::try_from(number % usize::from(divisor)).unwrap_or(0);
    f64::from(rest) / f64::from(divisor)
}

fn spread(model: &Model, rows: usize) -> Vec<Vec<f64>> {
    (0..rows)
        .map(|row| {
            let moved = model.init().iter().zip(model.bounds()).enumerate();
            moved
                .map(|(at, (init, [low, high]))| {
                    let step = fraction(at * 7 + row * 3, 11) - 0.5;
                    (init + step * init.abs().max(0.4)).clamp(low.max(-3.0), high.min(5.0))
                })
                .collect()
        })
        .collect()
}

fn accuracy(device: &std::sync::Arc<Device>, name: &str, model: &Model) -> Result<()> {
    let on_device = DeviceModel::new(device, model)?;
    let points = spread(model, 64);
    let data = vec![model.observed().clone(); points.len()];
    let (nll, gradient) = on_device.nll_and_gradient(&points.concat(), &data)?;
    let (mut worst_nll, mut worst_slope) = (0.0_f64, 0.0_f64);
    for (row, point) in points.iter().enumerate() {
        let Ok((expected, slopes)) = model.nll_and_gradient(point, &data[row]) else { continue };
        worst_nll = worst_nll.max((nll[row] - expected).abs() / expected.abs().max(1.0));
        let largest = slopes.iter().fold(1.0_f64, |most, slope| most.max(slope.abs()));
        for (ours, theirs) in gradient[row * point.len()..].iter().zip(&slopes) {
            worst_slope = worst_slope.max((ours - theirs).abs() / largest);
        }
    }
    println!("{name}: nll {worst_nll:.1e}, gradient {worst_slope:.1e}");
    let toys = model.toys(model.init(), 256, 3)?;
    let fits = on_device.descend(model.init(), &toys, None)?;
    let options = FitOptions::default().searching(Search::Descent);
    let expected = model.fit_many(&toys, &options);
    let (mut converged, mut above, mut kkt, mut steps) = (0, 0, 0.0_f64, 0);
    for (fit, expected) in fits.iter().zip(&expected) {
        if fit.status == Status::Converged {
            converged += 1;
            kkt = kkt.max(fit.kkt);
            steps += fit.steps;
            if let Ok(expected) = expected {
                above += i32::from(fit.nll > expected.nll + 1e-8);
            }
        }
    }
    println!(
        "{name}: {converged} of 256 fits converged, kkt {kkt:.1e}, {above} above the CPU's, {:.1} steps",
        f64::from(steps) / f64::from(converged)
    );
    Ok(())
}

/// Random workspaces: every kind of modifier and odd numbers.
fn random(device: &std::sync::Arc<Device>) -> Result<()> {
    let (mut models, mut unsupported, mut worst, mut fits, mut bad) = (0, 0, 0.0_f64, 0, 0);
    for seed in 0..300 {
        let limits = Limits { channels: 3, bins: 8, samples: 4, modifiers: 6, odd: seed % 2 == 0 };
        let Ok(model) = Model::new(&any(seed, limits), &ModelOptions::default()) else { continue };
        let Ok(on_device) = DeviceModel::new(device, &model) else {
            unsupported += 1;
            continue;
        };
        models += 1;
        let points = spread(&model, 8);
        let data = vec![model.observed().clone(); points.len()];
        let (nll, _) = on_device.nll_and_gradient(&points.concat(), &data)?;
        for (row, point) in points.iter().enumerate() {
            let Ok(expected) = model.nll(point, &data[row]) else { continue };
            if expected.is_finite() {
                worst = worst.max((nll[row] - expected).abs() / expected.abs().max(1.0));
            }
        }
        let fit = &on_device.descend(model.init(), &[model.observed().clone()], None)?[0];
        fits += 1;
        bad += i32::from(fit.status != Status::Converged);
    }
    println!(
        "random workspaces: {models} ({unsupported} unsupported), nll {worst:.1e}, {bad} of {fits} fits left to the CPU"
    );
    Ok(())
}

fn speed(device: &std::sync::Arc<Device>, twin: Twin) -> Result<()> {
    let model = Model::new(&twin.workspace(1), &ModelOptions::default())?;
    let poi = model.poi().ok_or("no parameter of interest")?;
    let mut theta = model.init().to_vec();
    theta[poi] = 0.0;
    let name = twin.as_str();
    for threads in [32_u32, 64, 128, 256, 512] {
        if threads < 128 && model.parameter_count() > 100 {
            continue;
        }
        let on_device = DeviceModel::new(device, &model)?.with_threads(threads)?;
        for count in [1_000, 10_000] {
            let options = ToyOptions::new(count, 1);
            let mut best = f64::INFINITY;
            for _ in 0..4 {
                let started = Instant::now();
                on_device.raw_toys(&model, &theta, 0.0, TestKind::Q0, &options, false)?;
                best = best.min(started.elapsed().as_secs_f64());
            }
            println!("{name}: {count} q0 toys with {threads} threads: {:.2} ms", 1e3 * best);
        }
    }
    Ok(())
}

fn toys(device: &std::sync::Arc<Device>, twin: Twin, count: u64) -> Result<()> {
    let model = Model::new(&twin.workspace(1), &ModelOptions::default())?;
    let poi = model.poi().ok_or("no parameter of interest")?;
    let mut theta = model.init().to_vec();
    theta[poi] = 0.0;
    let name = twin.as_str();
    let on_device = DeviceModel::new(device, &model)?;
    for (kind, mu) in [(TestKind::Q0, 0.0), (TestKind::QTilde, 1.0)] {
        theta[poi] = mu;
        let options = ToyOptions::new(count, 1);
        let raw = on_device.raw_toys(&model, &theta, mu, kind, &options, true)?;
        let started = Instant::now();
        let whole = on_device.toy_statistics(&model, &theta, mu, kind, &options)?;
        let both = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let expected = model.toy_statistics(&theta, mu, kind, &options, &|_| {})?;
        let cpu = started.elapsed().as_secs_f64();
        let (mut counts, mut worst_data) = (0, 0.0_f64);
        let length = model.observed().as_slice().len();
        for number in 0..count.min(2_000) {
            let data = model.toy(&theta, 1, number)?;
            let row = usize::try_from(number)?;
            for (place, (ours, theirs)) in
                raw.data[row * length..].iter().zip(data.as_slice()).enumerate()
            {
                if place < model.bin_count() {
                    counts += i32::from(ours.to_bits() != theirs.to_bits());
                }
                worst_data = worst_data.max((ours - theirs).abs() / (1.0 + theirs.abs()));
            }
        }
        let (mut differ, mut worst) = (0, 0.0_f64);
        for (ours, theirs) in whole.statistics.iter().zip(&expected) {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    let difference = (ours - theirs).abs();
                    worst = worst.max(difference);
                    if difference > 1e-6 {
                        differ += 1;
                        if differ < 4 {
                            println!("  q {ours} on the GPU, {theirs} on the CPU");
                        }
                    }
                }
                (None, None) => {}
                _ => differ += 1,
            }
        }
        println!(
            "{name} {kind:?}: {count} toys, GPU {:.2} ms with {} on the CPU, CPU {:.2} ms; {counts} counts differ, data {worst_data:.1e}; {differ} statistics differ, largest {worst:.1e}",
            1e3 * both,
            whole.on_cpu,
            1e3 * cpu
        );
    }
    Ok(())
}

fn losses(device: &std::sync::Arc<Device>, twin: Twin) -> Result<()> {
    let model = Model::new(&twin.workspace(1), &ModelOptions::default())?;
    let name = twin.as_str();
    let mut inputs = Vec::new();
    for (channel, _) in model.channels() {
        for sample in model.samples() {
            if model.has_sample(channel, sample) {
                inputs.push(Input::Nominal { channel: channel.to_owned(), sample: sample.clone() });
            }
        }
    }
    let quantity = Quantity::Significance { dataset: Dataset::default(), smooth: 0.0 };
    let objective =
        Objective::new(&model, quantity, &inputs, histfactory::derivative::Convention::default())?;
    let threads =
        std::env::args().find_map(|argument| argument.strip_prefix("--threads=")?.parse().ok());
    let mut loss = DeviceLoss::new(device, &objective)?;
    if let Some(threads) = threads {
        loss = loss.with_threads(threads)?;
    }
    let rows: Vec<Vec<f64>> = (0..256)
        .map(|row| {
            let scale = |at: usize| 0.9 + 0.2 * fraction(at * 5 + row * 3, 17);
            objective.current().iter().enumerate().map(|(at, value)| scale(at) * value).collect()
        })
        .collect();
    let found = loss.evaluate(&rows.concat())?;
    let (mut worst_value, mut worst_slope, mut left) = (0.0_f64, 0.0_f64, 0);
    for (row, x) in rows.iter().enumerate().take(64) {
        let mut expected = vec![0.0; x.len()];
        let z = objective.evaluate(x, Some(&mut expected))?;
        if found.status[row] != Status::Converged {
            left += 1;
            continue;
        }
        worst_value = worst_value.max((found.values[row] - z).abs() / z.max(1e-3));
        let largest = expected.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        for (ours, theirs) in found.slopes[row * x.len()..].iter().zip(&expected) {
            worst_slope = worst_slope.max((ours - theirs).abs() / largest);
        }
    }
    println!(
        "{name} loss: {} inputs, value {worst_value:.1e}, slopes {worst_slope:.1e}, {left} of 64 left",
        objective.len()
    );
    for count in [1_usize, 256] {
        let given = loss.upload(&rows[..count].concat())?;
        let out = loss.room(count)?;
        let call = LossRows {
            inputs: given.address(),
            value: out[0].address(),
            slopes: out[1].address(),
            status: out[2].address(),
            rows: count,
            scratch: Scratch { address: out[3].address(), blocks: loss.model().blocks(count) },
        };
        let repeats = 20;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            device.synchronize()?;
            let started = Instant::now();
            for _ in 0..repeats {
                #[expect(unsafe_code, reason = "an example of a call with memory of the GPU")]
                // SAFETY: the memory was allocated above for these rows and outlives the last call.
                unsafe {
                    loss.start(call, Stream::at(0))?;
                }
            }
            device.synchronize()?;
            best = best.min(started.elapsed().as_secs_f64() / f64::from(repeats));
        }
        let started = Instant::now();
        for x in &rows[..count.min(16)] {
            let mut slopes = vec![0.0; x.len()];
            objective.evaluate(x, Some(&mut slopes))?;
        }
        let cpu = started.elapsed().as_secs_f64() / f64::from(u8::try_from(count.min(16))?);
        println!(
            "{name} loss: {count} rows in {:.3} ms on the GPU, {:.3} ms per row on one core",
            1e3 * best,
            1e3 * cpu
        );
    }
    Ok(())
}
