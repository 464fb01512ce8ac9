//! The window of one warm process: its steady part, and violations of its conditions.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Event, Iterations, Message, Part, Settled};
use firstlight_schema::nanos::{Moment, Nanos};
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::RawSample;
use firstlight_schema::warm::{Drift, Overhead, SteadyPart, Window};

use crate::collector::collector;
use crate::programs::TimedProgram;
use crate::stats::limits::{DRIFT_CHANGE, DRIFT_P};
use crate::stats::{autocorrelation_time, drift, mean, middle};
use crate::steady::steady;
use crate::timeline::Timeline;

/// A larger share of work still running after a call indicates a missing synchronisation.
const UNFINISHED_SHARE: f64 = 0.1;
const UNFINISHED_NS: f64 = 20_000.0;
/// A larger number of bytes read in a window looks like loading data.
const MUCH_READ: u64 = 1 << 20;
const SHOWN_SHAPES: usize = 20;
const SHOWN_FUNCTIONS: usize = 3;

/// The summary of the measured calls; `None` without calls.
pub(crate) fn window(raw: &RawSample) -> Option<Window> {
    let durations: Vec<f64> = blocks(raw, Part::Window).flat_map(Iterations::per_call).collect();
    if durations.is_empty() {
        return None;
    }
    let found = steady(&durations);
    let part = found.from.map(|from| &durations[from..]);
    let steady = part.map(steady_part);
    let unfinished = raw.messages.iter().find_map(|message| match message {
        Message::Settled(settled) => unfinished(settled),
        _ => None,
    });
    Some(Window {
        warm_up_calls: count(spans(raw, Part::WarmUp).count()),
        calls: count(durations.len()),
        state: found.state,
        segments: found.segments,
        steady_from: found.from.map(count),
        drift: part.and_then(|part| {
            drift(part).map(|found| Drift {
                rank_correlation: found.correlation,
                p: found.p,
                change: found.change,
            })
        }),
        steady,
        unfinished_share: unfinished.map(|(share, _)| share),
        overhead: found.from.and_then(|from| overhead(raw, &durations, from)),
        collector: collector(raw, found.from),
    })
}

/// The time of the steady part's calls beyond the baseline: the mean, which a loop pays, and the median,
/// which excludes disturbances of single calls, such as the garbage collector.
fn overhead(raw: &RawSample, durations: &[f64], from: usize) -> Option<Overhead> {
    let baseline: Vec<f64> = blocks(raw, Part::Baseline).flat_map(Iterations::per_call).collect();
    let mut differences: Vec<f64> =
        durations.iter().zip(&baseline).skip(from).map(|(call, base)| call - base).collect();
    let mut steady: Vec<f64> = baseline.into_iter().skip(from).collect();
    if differences.is_empty() {
        return None;
    }
    let mean_ns = mean(&differences);
    differences.sort_unstable_by(f64::total_cmp);
    steady.sort_unstable_by(f64::total_cmp);
    Some(Overhead {
        pairs: count(differences.len()),
        mean_ns: Some(mean_ns),
        median_ns: middle(&differences),
        baseline_ns: middle(&steady),
        collector_ns: crate::collector::beyond_baseline(raw, from),
    })
}

pub(crate) fn blocks(raw: &RawSample, part: Part) -> impl Iterator<Item = &Iterations> {
    raw.messages.iter().filter_map(move |message| match message {
        Message::Iterations(block) if block.part == part => Some(block),
        _ => None,
    })
}

pub(crate) fn spans(raw: &RawSample, part: Part) -> impl Iterator<Item = (Moment, Moment)> {
    blocks(raw, part).flat_map(|block| block.spans.iter().copied())
}

#[expect(clippy::cast_precision_loss, reason = "a count of calls")]
pub(crate) fn steady_part(values: &[f64]) -> SteadyPart {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    SteadyPart {
        calls: count(values.len()),
        mean_ns: mean,
        median_ns: middle(&sorted),
        sd_ns: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
        min_ns: sorted[0],
        max_ns: sorted[sorted.len() - 1],
        autocorrelation_time: autocorrelation_time(values),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The share of a call's work that was still running when it returned, and that time.
fn unfinished(settled: &Settled) -> Option<(f64, f64)> {
    let mut shares: Vec<(f64, f64)> = settled
        .spans
        .iter()
        .map(|(begin, end, settled, again)| {
            // Waiting has a cost even if there is nothing to wait for.
            let waiting = again.since(*settled).as_f64();
            let left = (settled.since(*end).as_f64() - waiting).max(0.0);
            let work = end.since(*begin).as_f64() + left;
            (if work > 0.0 { left / work } else { 0.0 }, left)
        })
        .collect();
    shares.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    shares.get(shares.len() / 2).copied()
}

/// Violations that invalidate the window.
pub(crate) fn violations(
    raw: &RawSample,
    timeline: &Timeline,
    programs: &[TimedProgram],
    window: &Window,
) -> Vec<Reason> {
    let Some((open, close)) = bounds(raw) else { return Vec::new() };
    let inside = |at: Moment| open <= at && at <= close;
    let mut reasons = compilations(timeline, programs, open, close);
    reasons.extend(loads(raw, timeline, inside));
    reasons.extend(changes(raw));
    reasons.extend(unsynchronised(raw, window));
    reasons
}

fn bounds(raw: &RawSample) -> Option<(Moment, Moment)> {
    let (open, _) = spans(raw, Part::Window).next()?;
    let (_, close) = spans(raw, Part::Window).last()?;
    Some((open, close))
}

/// Everything traced, lowered or compiled between the first and the last measured call.
fn compilations(
    timeline: &Timeline,
    programs: &[TimedProgram],
    open: Moment,
    close: Moment,
) -> Vec<Reason> {
    let (late, early): (Vec<&TimedProgram>, Vec<&TimedProgram>) =
        programs.iter().filter(|program| program.end <= close).partition(|p| p.end >= open);
    let mut reasons: Vec<Reason> =
        functions(&late).iter().filter_map(|name| uncovered(name, &early, &late)).collect();
    let stretches = timeline.stretches.iter().filter(|stretch| {
        let compiles =
            stretch.span.phase.is_compilation() || stretch.span.phase == Phase::CacheRead;
        compiles && stretch.span.begin <= close && stretch.span.end >= open
    });
    let mut names: Vec<String> = Vec::new();
    let mut parts: Vec<(Moment, Moment)> = Vec::new();
    for stretch in stretches {
        parts.push((stretch.span.begin.max(open), stretch.span.end.min(close)));
        let name = stretch.span.label.clone().unwrap_or_else(|| stretch.span.phase.to_string());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let what = match late.len() {
            0 => format!("{} was traced", list(&names, SHOWN_FUNCTIONS)),
            1 => format!("1 program was compiled ({})", with_shapes(late[0])),
            n => {
                format!("{n} programs were compiled ({})", list(&functions(&late), SHOWN_FUNCTIONS))
            }
        };
        let spent = covered(parts).as_seconds() * 1e3;
        let text = format!("{what} while the window was open, {spent:.1} ms");
        reasons.push(Reason::new(Finding::CompiledInWindow, text));
    }
    reasons
}

/// The shapes that a function met in the window but not in the warm-up; `None` for a function that the
/// warm-up did not call at all, or that was recompiled for known shapes.
fn uncovered(name: &str, early: &[&TimedProgram], late: &[&TimedProgram]) -> Option<Reason> {
    let select = |programs: &[&TimedProgram]| -> Vec<(String, String)> {
        let mut seen: Vec<(String, String)> = Vec::new();
        for program in programs.iter().filter(|program| program.compile.function == name) {
            let shown = shapes(program);
            let key = program.digest.clone().or_else(|| program.compile.signature.clone());
            let key = key.unwrap_or_else(|| shown.clone());
            if !seen.iter().any(|(known, _)| *known == key) {
                seen.push((key, shown));
            }
        }
        seen
    };
    let (known, mut new) = (select(early), select(late));
    new.retain(|(key, _)| !known.iter().any(|(other, _)| other == key));
    if known.is_empty() || new.is_empty() {
        return None;
    }
    let shown: Vec<String> = new.into_iter().map(|(_, shown)| shown).collect();
    let text = format!(
        "the warm-up called {name} with {}, the window with {} more: {}",
        shapes_counted(known.len()),
        shown.len(),
        list(&shown, SHOWN_SHAPES),
    );
    Some(Reason::new(Finding::WarmupShorterThanTest, text))
}

/// The total duration of intervals, which may nest and overlap.
fn covered(mut parts: Vec<(Moment, Moment)>) -> Nanos {
    parts.sort_unstable();
    let mut until = Moment::default();
    let mut sum = Nanos::ZERO;
    for (begin, end) in parts {
        sum += end.since(begin.max(until));
        until = until.max(end);
    }
    sum
}

fn functions(programs: &[&TimedProgram]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for program in programs {
        if !names.contains(&program.compile.function) {
            names.push(program.compile.function.clone());
        }
    }
    names
}

fn shapes(program: &TimedProgram) -> String {
    let shown = program.changed.clone().or_else(|| program.compile.signature.clone());
    shown.unwrap_or_else(|| "unknown shapes".to_owned())
}

fn with_shapes(program: &TimedProgram) -> String {
    format!("{} for {}", program.compile.function, shapes(program))
}

fn shapes_counted(n: usize) -> String {
    if n == 1 { "1 shape".to_owned() } else { format!("{n} shapes") }
}

fn list(names: &[String], most: usize) -> String {
    let shown = names.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > most { format!("{shown}, … {} more", names.len() - most) } else { shown }
}

/// Modules and devices that were loaded between the first and the last measured call.
fn loads(raw: &RawSample, timeline: &Timeline, inside: impl Fn(Moment) -> bool) -> Option<Reason> {
    let mut packages: Vec<String> = Vec::new();
    let mut spent = Nanos::ZERO;
    let mut add = |name: &str, begin: Moment, end: Moment| {
        if inside(begin) {
            spent += end.since(begin);
            if !packages.iter().any(|known| known == name) {
                packages.push(name.to_owned());
            }
        }
    };
    for message in &raw.messages {
        if let Message::Imports(imports) = message {
            imports.segments.iter().for_each(|(name, begin, end)| add(name, *begin, *end));
        }
    }
    for stretch in &timeline.stretches {
        if stretch.span.phase == Phase::DeviceInit {
            add(stretch.span.phase.name(), stretch.span.begin, stretch.span.end);
        }
    }
    (!packages.is_empty()).then(|| {
        let text = format!(
            "{} was loaded while the window was open, {:.1} ms",
            list(&packages, SHOWN_FUNCTIONS),
            spent.as_seconds() * 1e3,
        );
        Reason::new(Finding::LoadInsideWindow, text)
    })
}

fn events(raw: &RawSample) -> impl Iterator<Item = &Event> {
    raw.messages.iter().filter_map(|message| match message {
        Message::Event(event) => Some(&event.event),
        _ => None,
    })
}

/// Settings that changed, and tracers that were on.
fn changes(raw: &RawSample) -> Vec<Reason> {
    events(raw)
        .filter_map(|event| match event {
            Event::ConfigChanged(change) => Some(Reason::new(
                Finding::ConfigChangedAfterWarmup,
                format!("{} was {}, then {}", change.name, change.before, change.after),
            )),
            Event::Tracer(tracer) => Some(Reason::new(
                Finding::TracerInflated,
                format!("{} was on while the window was open", tracer.name),
            )),
            _ => None,
        })
        .collect()
}

fn unsynchronised(raw: &RawSample, window: &Window) -> Option<Reason> {
    let (share, left) = raw.messages.iter().find_map(|message| match message {
        Message::Settled(settled) => unfinished(settled),
        _ => None,
    })?;
    (share > UNFINISHED_SHARE && left > UNFINISHED_NS).then(|| {
        let call = window.steady.as_ref().map_or_else(String::new, |steady| {
            format!(" of {:.3} ms", steady.mean_ns / 1e6)
        });
        let text = format!(
            "{:.0} % of a call's work was still running when it returned: {:.3} ms after a call{call}",
            share * 100.0,
            left / 1e6,
        );
        Reason::new(Finding::AsyncNotSynchronised, text)
    })
}

/// Findings that do not invalidate the window.
pub(crate) fn notices(raw: &RawSample, window: &Window) -> Vec<Reason> {
    let mut notices = Vec::new();
    if window.steady.is_none() {
        let text = match window.segments.len() {
            0 => format!("{} calls are too few to decide", window.calls),
            1 => format!("{} calls that climb or fall all through", window.calls),
            n => format!("{} calls in {n} stretches of different level", window.calls),
        };
        notices.push(Reason::new(Finding::NoSteadyState, text));
    }
    if let Some(drift) = &window.drift
        && drift.p < DRIFT_P
        && drift.change.abs() > DRIFT_CHANGE
    {
        let text = format!(
            "calls become {:.1} % {} from the first third of the steady part to the last",
            drift.change.abs() * 100.0,
            if drift.change > 0.0 { "slower" } else { "faster" },
        );
        notices.push(Reason::new(Finding::Drift, text));
    }
    for event in events(raw) {
        if let Event::WindowReads(reads) = event
            && reads.bytes > MUCH_READ
        {
            let megabytes = reads.bytes / 1_000_000;
            let text = format!("{megabytes} MB were read from files while the window was open");
            notices.push(Reason::new(Finding::LoadInsideWindow, text));
        }
    }
    notices
}
