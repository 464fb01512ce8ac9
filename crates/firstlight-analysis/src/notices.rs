//! What is worth saying about a set of samples beside its numbers.

use firstlight_schema::cache::{Layer, Policy};
use firstlight_schema::estimate::Method;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::Message;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::sample::Sample;
use firstlight_schema::warm::{Spread, WarmSummary};

/// More foreign load than this, in cores, is worth a word.
const NOISY_CORES: f64 = 0.5;
/// The fewest values that give the median a 95 % interval.
const FEWEST_FOR_AN_INTERVAL: usize = 6;

/// The fewest processes that tell how processes differ.
const FEWEST_PROCESSES: u32 = 5;
const HIGH_VARIANCE: f64 = 0.2;

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

/// The same for warm processes, which an interval takes fewer of.
pub(crate) fn warm_notices(samples: &[Sample], summary: Option<&WarmSummary>) -> Vec<Reason> {
    let mut notices = Vec::new();
    let too_few = summary.and_then(|summary| match summary.per_call.method {
        Method::BlockBootstrap => {
            Some("there is 1 process, so what differs from run to run is not captured".to_owned())
        }
        _ if summary.per_call.n < FEWEST_PROCESSES => {
            Some(format!("{} processes, {FEWEST_PROCESSES} are needed", summary.per_call.n))
        }
        _ => None,
    });
    notices.extend(too_few.map(|text| Reason::new(Finding::TooFewSamples, text)));
    notices.extend(noisy(samples));
    for finding in [
        Finding::NoSteadyState,
        Finding::Drift,
        Finding::LoadInsideWindow,
        Finding::LeftProcesses,
        Finding::AdapterFailed,
    ] {
        notices.extend(repeated(samples, finding));
    }
    notices
}

/// Values that differ so much that their mean says little.
pub(crate) fn high_variance(spread: &Spread) -> Option<Reason> {
    let share = spread.sd_ns? / spread.mean_ns;
    (spread.n >= FEWEST_PROCESSES && share > HIGH_VARIANCE).then(|| {
        let text = format!(
            "the standard deviation over {} processes is {:.0} % of the mean",
            spread.n,
            share * 100.0,
        );
        Reason::new(Finding::HighVariance, text)
    })
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
    let text = match samples.len() {
        1 => first.text.clone(),
        all => format!("{} ({} of {all} processes)", first.text, others + 1),
    };
    Some(Reason::new(finding, text))
}
