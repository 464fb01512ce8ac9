//! Notices about a set of samples.

use firstlight_schema::cache::{Layer, Policy};
use firstlight_schema::estimate::Method;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::Message;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::sample::Sample;
use firstlight_schema::warm::{Spread, WarmSummary};

use crate::stats::limits::{FEWEST_FOR_INTERVAL, FEWEST_FOR_VERDICT, HIGH_VARIANCE, NOISY_CORES};

/// Shorter times for compiling modules from source are not reported.
const WORTH_A_WORD: Nanos = Nanos(10_000_000);

/// Findings about the whole set, each reported once with its number.
pub fn notices(samples: &[Sample]) -> Vec<Reason> {
    let mut notices = Vec::new();
    notices.extend(too_few(samples));
    notices.extend(noisy(samples));
    notices.extend(from_source(samples));
    for finding in [
        Finding::NotHooked,
        Finding::ChildrenNotSeen,
        Finding::LeftProcesses,
        Finding::AdapterFailed,
    ] {
        notices.extend(repeated(samples, finding));
    }
    notices
}

/// The same for warm processes, of which an interval needs fewer.
pub(crate) fn warm_notices(samples: &[Sample], summary: Option<&WarmSummary>) -> Vec<Reason> {
    let mut notices = Vec::new();
    let too_few = summary.and_then(|summary| match summary.per_call.method {
        Method::BlockBootstrap => Some(format!(
            "1 process does not show how processes differ, {FEWEST_FOR_VERDICT} are needed"
        )),
        _ if usize::try_from(summary.per_call.n).is_ok_and(|n| n < FEWEST_FOR_VERDICT) => {
            Some(format!("{} processes, {FEWEST_FOR_VERDICT} are needed", summary.per_call.n))
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

/// Values that differ so much that no process is close to their mean.
pub(crate) fn high_variance(spread: &Spread) -> Option<Reason> {
    let share = spread.sd_ns? / spread.mean_ns;
    let enough = usize::try_from(spread.n).is_ok_and(|n| n >= FEWEST_FOR_VERDICT);
    (enough && share > HIGH_VARIANCE).then(|| {
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
    (0 < valid && valid < FEWEST_FOR_INTERVAL).then(|| {
        let text =
            format!("a 95 % interval needs {FEWEST_FOR_INTERVAL} valid samples, there are {valid}");
        Reason::new(Finding::TooFewSamples, text)
    })
}

fn noisy(samples: &[Sample]) -> Option<Reason> {
    let busy = samples.iter().filter_map(|sample| sample.contention_cores);
    let loud = busy.clone().filter(|&cores| cores > NOISY_CORES).count();
    (loud > 0).then(|| {
        let most = busy.fold(0.0, f64::max);
        let text = format!(
            "during {loud} of {} samples other processes used more than {NOISY_CORES} cores (at \
             most {most:.1})",
            samples.len(),
        );
        Reason::new(Finding::NoisyMachine, text)
    })
}

/// Modules compiled from source, process by process, if byte code was not declared as present.
fn from_source(samples: &[Sample]) -> Option<Reason> {
    let undeclared = |sample: &&Sample| {
        !sample
            .caches
            .iter()
            .any(|layer| layer.layer == Layer::Bytecode && layer.policy != Policy::AsFound)
    };
    let valid: Vec<(u64, Nanos)> =
        samples.iter().filter(|sample| sample.valid).filter(undeclared).map(sources).collect();
    let longest = valid.iter().map(|&(_, spent)| spent).max().unwrap_or_default();
    (longest >= WORTH_A_WORD).then(|| {
        let &(modules, spent) = valid.iter().max_by_key(|(_, spent)| *spent).expect("the longest");
        let spent = as_text(spent);
        let others = valid.len() - 1;
        let alone = valid.iter().filter(|(_, spent)| *spent >= WORTH_A_WORD).count() == 1;
        let text = match (alone, others) {
            (_, 0) => format!("{modules} modules were compiled from source, {spent}"),
            (true, _) => format!(
                "one of {} processes compiled {modules} modules from source, {spent}, the others hardly \
                 any; its time is part of every mean",
                valid.len(),
            ),
            (false, _) => {
                let fewest = valid.iter().map(|&(modules, _)| modules).min().unwrap_or(0);
                let range = if fewest == modules {
                    format!("{modules}")
                } else {
                    format!("{fewest}–{modules}")
                };
                format!("each process compiled {range} modules from source, up to {spent}")
            }
        };
        Reason::new(Finding::BytecodeNotCached, text)
    })
}

fn as_text(spent: Nanos) -> String {
    match spent.as_seconds() {
        long if long >= 1.0 => format!("{long:.2} s"),
        short => format!("{:.0} ms", short * 1e3),
    }
}

/// The number of modules that a process compiled from source, with their time.
pub(crate) fn sources(sample: &Sample) -> (u64, Nanos) {
    let mut found = (0, Nanos::ZERO);
    for message in &sample.raw.messages {
        if let Message::Imports(imports) = message {
            found.0 += imports.sources;
            found.1 += imports.sources_ns;
        }
    }
    found
}

/// A notice of single samples, reported once.
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
