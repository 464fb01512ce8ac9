//! What is worth saying about a set of samples beside its numbers.

use firstlight_schema::cache::{Layer, Policy};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::Message;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::sample::Sample;

/// More foreign load than this, in cores, is worth a word.
const NOISY_CORES: f64 = 0.5;
/// The fewest values that give the median a 95 % interval.
const FEWEST_FOR_AN_INTERVAL: usize = 6;

/// Less time than this for compiling modules from source is not.
const WORTH_A_WORD: Nanos = Nanos(10_000_000);

/// Findings about the whole set: once each, with the number behind them.
pub fn notices(samples: &[Sample]) -> Vec<Reason> {
    let mut notices = Vec::new();
    notices.extend(too_few(samples));
    notices.extend(noisy(samples));
    notices.extend(from_source(samples));
    for finding in [Finding::NotHooked, Finding::LeftProcesses, Finding::AdapterFailed] {
        notices.extend(repeated(samples, finding));
    }
    notices
}

fn too_few(samples: &[Sample]) -> Option<Reason> {
    let valid = samples.iter().filter(|sample| sample.valid).count();
    (0 < valid && valid < FEWEST_FOR_AN_INTERVAL).then(|| {
        let text = format!("a 95 % interval takes 6 valid samples, there are {valid}");
        Reason::new(Finding::TooFewSamples, text)
    })
}

fn noisy(samples: &[Sample]) -> Option<Reason> {
    let busy = samples.iter().filter_map(|sample| sample.contention_cores);
    let loud = busy.clone().filter(|&cores| cores > NOISY_CORES).count();
    (loud > 0).then(|| {
        let most = busy.fold(0.0, f64::max);
        let text = format!(
            "during {loud} of {} samples other processes kept more than {NOISY_CORES} cores busy \
             (at most {most:.1})",
            samples.len(),
        );
        Reason::new(Finding::NoisyMachine, text)
    })
}

/// Modules compiled from source, where nobody declared that byte code would be there.
fn from_source(samples: &[Sample]) -> Option<Reason> {
    let found = |sample: &&Sample| {
        !sample
            .caches
            .iter()
            .any(|layer| layer.layer == Layer::Bytecode && layer.policy != Policy::AsFound)
    };
    let mut modules = 0;
    let mut spent = Nanos::ZERO;
    let mut processes = 0;
    for sample in samples.iter().filter(|sample| sample.valid).filter(found) {
        processes += 1;
        for message in &sample.raw.messages {
            if let Message::Imports(imports) = message {
                modules += imports.sources;
                spent += imports.sources_ns;
            }
        }
    }
    let per_process = Nanos(spent.0 / processes.max(1));
    (per_process >= WORTH_A_WORD).then(|| {
        let text = format!(
            "in each process {} modules were compiled from source, {:.0} ms of its imports: \
             their byte code is not on disk; `--bytecode primed` measures with it",
            modules / processes,
            per_process.as_seconds() * 1e3,
        );
        Reason::new(Finding::BytecodeNotCached, text)
    })
}

/// A notice that single samples carry, told once.
fn repeated(samples: &[Sample], finding: Finding) -> Option<Reason> {
    let mut carriers = samples
        .iter()
        .filter_map(|sample| sample.notices.iter().find(|notice| notice.finding == finding));
    let first = carriers.next()?;
    let others = carriers.count();
    let text = match others {
        0 => first.text.clone(),
        _ => format!("{} ({} of {} samples)", first.text, others + 1, samples.len()),
    };
    Some(Reason::new(finding, text))
}
