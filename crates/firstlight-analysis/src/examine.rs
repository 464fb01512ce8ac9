//! Computes a sample from a process's raw readings: ledger, programs, memory, validity.

use firstlight_schema::cache::{CachePolicy, Layer, LayerEvidence};
use firstlight_schema::conversation::is_exec;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{Check, Event, FIRST_RESULT, Message};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::{Outcome, Paused, RawSample};
use firstlight_schema::sample::{BackgroundTime, Compile, FirstResult, Package, Sample};

use crate::ledger::{Span, book};
use crate::timeline::Timeline;
use crate::{evidence, memory, programs, window};

/// Below this, the kernel's ticks are too coarse to measure the load of the machine.
const LONG_ENOUGH_FOR_CONTENTION: Nanos = Nanos(200_000_000);

/// Shorter waits for children are not reported.
const WORTH_A_WORD: Nanos = Nanos(10_000_000);

/// The declared conditions of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub policy: CachePolicy,
    /// A non-zero exit code is not a failure.
    pub any_exit_code: bool,
    pub job: Job,
}

/// The requirements on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// An unchanged command, without requirements.
    Command,
    /// A runner that must report a first result.
    FirstCall,
    /// A runner that must report a window of calls.
    Window,
}

/// Evaluates the readings of one process under its declared conditions.
pub fn examine(raw: RawSample, conditions: Conditions) -> Sample {
    let timeline = Timeline::new(&raw);
    let first_result = timeline.mark(FIRST_RESULT).filter(|&at| at <= raw.reaped).map(|at| {
        let phases = book(raw.spawn, at, &timeline.main);
        FirstResult { ns: at.since(raw.spawn), phases }
    });
    let programs = programs::programs(&timeline);
    let window = (conditions.job == Job::Window).then(|| window::window(&raw)).flatten();
    let mut reasons = failures(&raw, conditions, first_result.is_some(), window.is_some());
    let mut notices = notices(&raw, &timeline);
    if let Some(window) = &window {
        reasons.extend(window::violations(&raw, &timeline, &programs, window));
        notices.extend(window::notices(&raw, window));
    }
    let compiles: Vec<Compile> = programs.into_iter().map(|program| program.compile).collect();
    let caches = evidence::layers(&raw, conditions.policy, &compiles);
    // The byte code of a warm process does not affect its window.
    let declared = |evidence: &&LayerEvidence| {
        conditions.job != Job::Window || evidence.layer != Layer::Bytecode
    };
    let relevant: Vec<LayerEvidence> = caches.iter().filter(declared).cloned().collect();
    reasons.extend(evidence::contradictions(&raw, &relevant, &compiles));
    let memory = memory::by_phase(&raw);
    Sample {
        number: raw.number,
        round: None,
        valid: reasons.is_empty(),
        reasons,
        notices,
        wall_ns: raw.wall(),
        phases: book(raw.spawn, raw.reaped, &timeline.main),
        first_result,
        window,
        compiles,
        packages: packages(&raw),
        background: background(&timeline),
        caches,
        peak_rss_bytes: memory::peak(&raw, &memory),
        memory,
        contention_cores: contention(&raw),
        raw,
    }
}

fn failures(
    raw: &RawSample,
    conditions: Conditions,
    has_result: bool,
    has_window: bool,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let reported = raw.messages.iter().find_map(|message| match message {
        Message::Failed(failed) => Some(failed.error.as_str()),
        _ => None,
    });
    match (&raw.outcome, reported) {
        (Outcome::Completed | Outcome::Exited { .. }, Some(error)) => {
            reasons.push(Reason::new(Finding::ProcessFailed, error));
        }
        (Outcome::Exited { .. }, None) if conditions.any_exit_code => {}
        (outcome @ Outcome::Exited { .. }, None) => reasons
            .push(Reason::new(Finding::ProcessFailed, format!("{outcome}{}", last_line(raw)))),
        (outcome @ Outcome::Killed { .. }, _) => {
            reasons.push(Reason::new(Finding::ProcessFailed, outcome.to_string()));
        }
        (outcome @ Outcome::TimedOut { .. }, _) => {
            reasons.push(Reason::new(Finding::TimedOut, format!("{outcome}{}", open_phase(raw))));
        }
        (outcome @ Outcome::Interrupted, _) => {
            reasons.push(Reason::new(Finding::Interrupted, outcome.to_string()));
        }
        (Outcome::Broke { error }, _) => {
            reasons.push(Reason::new(Finding::ProtocolBroken, error.as_str()));
        }
        (Outcome::Completed, None) if conditions.job == Job::FirstCall && !has_result => reasons
            .push(Reason::new(Finding::ProtocolBroken, "the runner exited without a first result")),
        (Outcome::Completed, None) if conditions.job == Job::Window && !has_window => reasons
            .push(Reason::new(Finding::ProtocolBroken, "the runner exited without measured calls")),
        (Outcome::Completed, None) => {}
    }
    reasons.extend(raw.paused.map(paused));
    reasons.extend(raw.messages.iter().filter_map(|message| match message {
        Message::Output(output) if output.check == Check::Failed => Some(Reason::new(
            Finding::OutputDiffers,
            output.error.as_deref().unwrap_or("the workload's check rejected its result"),
        )),
        _ => None,
    }));
    reasons
}

fn paused(paused: Paused) -> Reason {
    let Paused { suspended_ns, stops } = paused;
    let text = match stops {
        0 => format!("the machine slept for {:.1} s", suspended_ns.as_seconds()),
        _ => format!("the process or firstlight was stopped or continued {stops} times"),
    };
    Reason::new(Finding::Paused, text)
}

/// A process that sent `hello` and exited without `bye`.
fn channel_closed(raw: &RawSample) -> Option<Reason> {
    let last =
        raw.messages.iter().rev().find(|message| {
            matches!(message, Message::Hello(_) | Message::Bye(_)) || is_exec(message)
        });
    let silent = raw.outcome == Outcome::Completed && matches!(last, Some(Message::Hello(_)));
    silent.then(|| Reason::new(Finding::ChannelClosed, "the process ended without sending `bye`"))
}

/// The last line of stderr of a failed process.
fn last_line(raw: &RawSample) -> String {
    match raw.streams.stderr_tail.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("; last line of stderr: {}", line.trim()),
        None => String::new(),
    }
}

/// The phase of the main thread when the process was killed.
fn open_phase(raw: &RawSample) -> String {
    use firstlight_schema::message::Edge;
    let mut open = Vec::new();
    for message in &raw.messages {
        let Message::Phase(edge) = message else { continue };
        match edge.edge {
            Edge::Begin if edge.thread == 0 => open.push(edge),
            Edge::End if edge.thread == 0 => {
                if let Some(position) = open.iter().rposition(|begun| begun.name == edge.name) {
                    open.remove(position);
                }
            }
            Edge::Begin | Edge::End => {}
        }
    }
    match open.last() {
        Some(edge) => match &edge.label {
            Some(label) => format!(", in phase {} ({label})", edge.name),
            None => format!(", in phase {}", edge.name),
        },
        None => String::new(),
    }
}

fn notices(raw: &RawSample, timeline: &Timeline) -> Vec<Reason> {
    let mut notices = Vec::new();
    if !timeline.hooked {
        notices.push(Reason::new(
            Finding::NotHooked,
            "no Python process loaded the hooks, so firstlight sees the process only from outside",
        ));
    }
    notices.extend(channel_closed(raw));
    notices.extend(unseen_children(timeline));
    if raw.survivors > 0 {
        notices.push(Reason::new(
            Finding::LeftProcesses,
            format!("{} processes outlived the command and were killed", raw.survivors),
        ));
    }
    for message in &raw.messages {
        if let Message::Event(event) = message
            && let Event::AdapterFailed(failed) = &event.event
        {
            let text = format!("the adapter for {} failed: {}", failed.adapter, failed.error);
            notices.push(Reason::new(Finding::AdapterFailed, text));
        }
    }
    notices
}

/// The time that the program waited for children, and their commands.
fn unseen_children(timeline: &Timeline) -> Option<Reason> {
    let mut commands: Vec<&str> = Vec::new();
    let mut waits: Vec<&Span> = Vec::new();
    for span in timeline.main.iter().filter(|span| span.phase == Phase::Children) {
        waits.push(span);
        if let Some(label) = span.label.as_deref().filter(|label| !commands.contains(label)) {
            commands.push(label);
        }
    }
    let waited: Nanos = waits.iter().map(|span| span.end.since(span.begin)).sum();
    (waited > WORTH_A_WORD).then(|| {
        let text = format!(
            "{:.2} s waiting for {}, whose phases are not seen",
            waited.as_seconds(),
            list(&commands),
        );
        Reason::new(Finding::ChildrenNotSeen, text)
    })
}

fn list(commands: &[&str]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<String> =
        commands.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if commands.len() > SHOWN {
        names.push(format!("{} more", commands.len() - SHOWN));
    }
    if names.is_empty() { "child processes".to_owned() } else { names.join(", ") }
}

fn packages(raw: &RawSample) -> Vec<Package> {
    let mut packages: Vec<Package> = Vec::new();
    for message in &raw.messages {
        let Message::Imports(imports) = message else { continue };
        for (name, &cumulative) in &imports.cumulative {
            let own: Nanos = imports
                .segments
                .iter()
                .filter(|(package, ..)| package == name)
                .map(|(_, begin, end)| end.since(*begin))
                .sum();
            if let Some(known) = packages.iter_mut().find(|package| package.name == *name) {
                known.self_ns += own;
                known.cumulative_ns += cumulative;
            } else {
                packages.push(Package {
                    name: name.clone(),
                    self_ns: own,
                    cumulative_ns: cumulative,
                });
            }
        }
    }
    packages.sort_by(|a, b| b.self_ns.cmp(&a.self_ns).then_with(|| a.name.cmp(&b.name)));
    packages
}

/// Phases on other threads, summed per thread and label.
fn background(timeline: &Timeline) -> Vec<BackgroundTime> {
    let mut rows: Vec<BackgroundTime> = Vec::new();
    for stretch in timeline.stretches.iter().filter(|stretch| stretch.thread != 0) {
        let ns = stretch.span.end.since(stretch.span.begin);
        let same = |row: &&mut BackgroundTime| {
            row.thread == stretch.thread
                && row.phase == stretch.span.phase
                && row.label == stretch.span.label
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.ns += ns,
            None => rows.push(BackgroundTime {
                thread: stretch.thread,
                phase: stretch.span.phase,
                label: stretch.span.label.clone(),
                ns,
            }),
        }
    }
    rows
}

/// Cores used by other processes: the CPU time of the machine minus this process's own.
fn contention(raw: &RawSample) -> Option<f64> {
    let wall = raw.wall();
    if wall < LONG_ENOUGH_FOR_CONTENTION {
        return None;
    }
    let foreign = raw.machine_busy_ns?.as_f64() - raw.usage.cpu_ns().as_f64();
    Some((foreign / wall.as_f64()).max(0.0))
}
