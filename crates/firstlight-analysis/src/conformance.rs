//! The requirements on a runner beyond the order of its lines, which `Conversation` checks: it answers
//! each request, completely and in time.

use std::collections::VecDeque;

use firstlight_schema::conformance::{Requirement, RequirementResult};
use firstlight_schema::message::{
    Edge, Event, FIRST_RESULT, Iterate, Iterations, Message, Part, Request, Role,
};
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::Outcome;
use firstlight_schema::validation::RuleOutcome;

/// One process of a runner: the requests to it, and what was observed.
#[derive(Clone, Copy, Debug)]
pub struct Played<'a> {
    pub requests: &'a [Request],
    pub messages: &'a [Message],
    pub outcome: &'a Outcome,
    /// Processes that it left running.
    pub survivors: u32,
    /// The end of what it wrote to stderr.
    pub stderr: &'a str,
}

/// All requirements of a conversation. Without `prepare` the runner must refuse the other requests.
pub fn requirements(played: Played<'_>) -> Vec<RequirementResult> {
    let mut results = vec![hello(played), lines(played)];
    if matches!(played.requests.first(), Some(Request::Prepare(_))) {
        results.extend(answers(played));
        results.extend(phases(played));
        results.push(bye(played));
    } else {
        results.push(refusal(played));
    }
    results.push(exit(played));
    results
}

/// The observation that meets a requirement, or the missing one.
type Evidence = Result<String, String>;

fn result(requirement: Requirement, evidence: Evidence) -> RequirementResult {
    let (outcome, evidence) = match evidence {
        Ok(seen) => (RuleOutcome::Pass, seen),
        Err(missing) => (RuleOutcome::Fail, missing),
    };
    RequirementResult { requirement, outcome, evidence }
}

fn hello(played: Played<'_>) -> RequirementResult {
    let evidence = match played.messages.first() {
        Some(Message::Hello(hello)) if hello.role == Role::Runner => {
            Ok(format!("protocol {}, {}", hello.protocol, hello.runtime))
        }
        Some(Message::Hello(_)) => Err("its role is `hooks`, expected `runner`".to_owned()),
        _ => Err("no `hello` arrived on the descriptor that FIRSTLIGHT_FD names".to_owned()),
    };
    result(Requirement::Hello, evidence)
}

fn lines(played: Played<'_>) -> RequirementResult {
    let evidence = match played.outcome {
        Outcome::Broke { error } => Err(error.clone()),
        _ => Ok(format!("{} messages", played.messages.len())),
    };
    result(Requirement::Lines, evidence)
}

/// The answers in the order of the requests. A missing one does not hide the next.
fn answers(played: Played<'_>) -> Vec<RequirementResult> {
    let is_answer = |message: &&Message| {
        matches!(
            message,
            Message::Ready(_)
                | Message::Iterations(_)
                | Message::Settled(_)
                | Message::Output(_)
                | Message::Failed(_)
        )
    };
    let mut answers = Answers { left: played.messages.iter().filter(is_answer).collect() };
    let mut results = Vec::new();
    for request in played.requests {
        let silent = answers.left.is_empty();
        let (requirement, evidence) = match request {
            Request::Prepare(_) => (Requirement::Prepare, answers.ready()),
            Request::First => (Requirement::First, answers.first()),
            Request::WarmUp(_) => (Requirement::WarmUp, answers.warm_up()),
            Request::Iterate(asked) => (Requirement::Iterate, answers.window(asked)),
            Request::Settle(asked) => (Requirement::Settle, answers.settled(asked)),
            Request::Watch | Request::Finish => continue,
        };
        let mut checked = result(requirement, evidence);
        // Where a rejected line ended the process, it could not answer what came after.
        if silent && matches!(played.outcome, Outcome::Broke { .. }) {
            checked.outcome = RuleOutcome::NotChecked;
        }
        results.push(checked);
    }
    results
}

struct Answers<'a> {
    left: VecDeque<&'a Message>,
}

impl<'a> Answers<'a> {
    fn missing(&self, expected: &str) -> String {
        match self.left.front() {
            None => format!("`{expected}` is missing"),
            Some(Message::Failed(failed)) => {
                format!("expected `{expected}`, got `failed`: {}", failed.error)
            }
            Some(other) => format!("expected `{expected}`, got `{}`", name(other)),
        }
    }

    fn ready(&mut self) -> Evidence {
        match self.left.front() {
            Some(Message::Ready(_)) => {
                self.left.pop_front();
                Ok("`ready`".to_owned())
            }
            _ => Err(self.missing("ready")),
        }
    }

    /// The blocks of one answer, up to the last. Blocks of the baseline are left out.
    fn blocks(&mut self, part: Part) -> Result<Vec<&'a Iterations>, String> {
        let mut blocks = Vec::new();
        while let Some(Message::Iterations(block)) = self.left.front() {
            self.left.pop_front();
            if block.part == Part::Baseline {
                continue;
            }
            blocks.push(block);
            if block.last {
                let wrong = blocks.iter().find(|block| block.part != part);
                return match wrong {
                    Some(block) => Err(format!(
                        "`iterations` has the part `{}`, expected `{}`",
                        part_name(block.part),
                        part_name(part)
                    )),
                    None => Ok(blocks),
                };
            }
        }
        if blocks.is_empty() {
            return Err(self.missing("iterations"));
        }
        Err("no block of `iterations` is marked as the last".to_owned())
    }

    fn output(&mut self) -> Result<(), String> {
        match self.left.front() {
            Some(Message::Output(_)) => {
                self.left.pop_front();
                Ok(())
            }
            _ => Err(format!("{} after `iterations`", self.missing("output"))),
        }
    }

    /// Calls and the output after them. A wrong block does not hide the output.
    fn answer(&mut self, part: Part) -> Result<Vec<&'a Iterations>, String> {
        let blocks = self.blocks(part);
        let output = self.output();
        let blocks = blocks?;
        output.map(|()| blocks)
    }

    fn first(&mut self) -> Evidence {
        let calls = calls(&self.answer(Part::First)?);
        if calls == 1 { Ok("1 call and its output".to_owned()) } else { Err(counted(calls, "1")) }
    }

    /// A workload's own warm-up may be one call.
    fn warm_up(&mut self) -> Evidence {
        match calls(&self.blocks(Part::WarmUp)?) {
            0 => Err(counted(0, "at least 1")),
            calls => Ok(format!("calls: {calls}")),
        }
    }

    fn window(&mut self, asked: &Iterate) -> Evidence {
        let blocks = self.answer(Part::Window)?;
        let calls = calls(&blocks);
        limits(asked, calls)?;
        let spans: Vec<(Moment, Moment)> =
            blocks.iter().flat_map(|block| block.spans.iter().copied()).collect();
        let single = blocks.iter().all(|block| block.calls_per_span.get() == 1);
        if let (Some(within), true) = (asked.within_ns, single)
            && let Some(&(start, _)) = spans.first()
        {
            let kept = usize::try_from(asked.at_least.max(1)).unwrap_or(usize::MAX);
            let late = spans.iter().skip(kept - 1).filter(|(_, end)| end.since(start) > within);
            // The call that exceeds the limit is the last.
            if late.count() > 1 {
                return Err(format!("further calls start after the limit of {} ns", within.0));
            }
        }
        Ok(format!("calls: {calls}, and an output"))
    }

    fn settled(&mut self, asked: &Iterate) -> Evidence {
        let Some(Message::Settled(settled)) = self.left.front() else {
            return Err(self.missing("settled"));
        };
        self.left.pop_front();
        let calls = settled.spans.len() as u64;
        limits(asked, calls)?;
        Ok(format!("calls: {calls}"))
    }
}

/// All requested calls, or with a time limit the fewest that are allowed.
fn limits(asked: &Iterate, calls: u64) -> Result<(), String> {
    let count = u64::from(asked.count);
    let fewest =
        if asked.within_ns.is_some() { u64::from(asked.at_least).min(count) } else { count };
    if calls < fewest { Err(counted(calls, &format!("at least {fewest}"))) } else { Ok(()) }
}

fn calls(blocks: &[&Iterations]) -> u64 {
    blocks.iter().map(|block| block.spans.len() as u64 * block.calls_per_span.get()).sum()
}

fn counted(calls: u64, expected: &str) -> String {
    format!("calls: {calls}, expected {expected}")
}

/// Calls lie in the phase of their part, and the first result is marked.
fn phases(played: Played<'_>) -> Vec<RequirementResult> {
    let mut results = Vec::new();
    if played.requests.contains(&Request::First) {
        let is_mark = |message: &Message| {
            matches!(message, Message::Event(timed)
                if matches!(&timed.event, Event::Mark(mark) if mark.name == FIRST_RESULT))
        };
        let evidence = if played.messages.iter().any(is_mark) {
            Ok("marked".to_owned())
        } else {
            Err(format!("the event `mark` with the name `{FIRST_RESULT}` is missing"))
        };
        results.push(result(Requirement::FirstResult, evidence));
    }
    let found = spans_of_phases(played.messages);
    let mut outside = Vec::new();
    for message in played.messages {
        let Message::Iterations(block) = message else { continue };
        let Some(phase) = phase(block.part) else { continue };
        let lies = |&(begin, end): &(Moment, Moment)| {
            found.iter().any(|&(name, from, to)| name == phase && from <= begin && end <= to)
        };
        if !block.spans.iter().all(lies) {
            outside.push(phase.to_string());
        }
    }
    outside.dedup();
    let evidence = match &outside[..] {
        [] => Ok("all calls lie in their phases".to_owned()),
        names => Err(format!("calls lie outside of the phase `{}`", names.join("`, `"))),
    };
    results.push(result(Requirement::Phases, evidence));
    results
}

fn phase(part: Part) -> Option<Phase> {
    match part {
        Part::First => Some(Phase::FirstRun),
        Part::WarmUp => Some(Phase::WarmUp),
        Part::Window => Some(Phase::Window),
        Part::Baseline => None,
    }
}

/// Phases of the main thread that began and ended.
fn spans_of_phases(messages: &[Message]) -> Vec<(Phase, Moment, Moment)> {
    let mut open: Vec<(Phase, Moment)> = Vec::new();
    let mut spans = Vec::new();
    for message in messages {
        let Message::Phase(edge) = message else { continue };
        if edge.thread != 0 {
            continue;
        }
        match edge.edge {
            Edge::Begin => open.push((edge.name, edge.at)),
            Edge::End => {
                if let Some(at) = open.iter().rposition(|&(name, _)| name == edge.name) {
                    let (name, begin) = open.remove(at);
                    spans.push((name, begin, edge.at));
                }
            }
        }
    }
    spans
}

fn refusal(played: Played<'_>) -> RequirementResult {
    let failed = played.messages.iter().find_map(|message| match message {
        Message::Failed(failed) => Some(failed.error.clone()),
        _ => None,
    });
    let missing = "`first` without `prepare` must be answered by `failed`".to_owned();
    result(Requirement::Failed, failed.ok_or(missing))
}

fn bye(played: Played<'_>) -> RequirementResult {
    let evidence = match played.messages.last() {
        Some(Message::Bye(_)) => Ok("the last message".to_owned()),
        _ if matches!(played.outcome, Outcome::Broke { .. }) => return killed(Requirement::Bye),
        _ => Err("`bye` is missing".to_owned()),
    };
    result(Requirement::Bye, evidence)
}

fn exit(played: Played<'_>) -> RequirementResult {
    let requirement = Requirement::Exit;
    if matches!(played.outcome, Outcome::Broke { .. }) {
        return killed(requirement);
    }
    let prepared = matches!(played.requests.first(), Some(Request::Prepare(_)));
    let refused = !prepared && matches!(played.outcome, Outcome::Exited { .. });
    let evidence = if played.survivors > 0 {
        Err(format!("left {} processes running", played.survivors))
    } else if refused || *played.outcome == Outcome::Completed {
        Ok(played.outcome.to_string())
    } else {
        Err(match played.stderr.trim_end().lines().last() {
            Some(line) => format!("{}; last line of stderr: {line}", played.outcome),
            None => played.outcome.to_string(),
        })
    };
    result(requirement, evidence)
}

/// firstlight kills a process that breaks the protocol.
fn killed(requirement: Requirement) -> RequirementResult {
    let evidence = "killed because of the rejected line".to_owned();
    RequirementResult { requirement, outcome: RuleOutcome::NotChecked, evidence }
}

fn name(message: &Message) -> &'static str {
    match message {
        Message::Ready(_) => "ready",
        Message::Iterations(_) => "iterations",
        Message::Settled(_) => "settled",
        Message::Output(_) => "output",
        Message::Failed(_) => "failed",
        Message::Hello(_) => "hello",
        Message::Phase(_) => "phase",
        Message::Imports(_) => "imports",
        Message::Event(_) => "event",
        Message::Memory(_) => "memory",
        Message::Bye(_) => "bye",
    }
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::First => "first",
        Part::WarmUp => "warm-up",
        Part::Window => "window",
        Part::Baseline => "baseline",
    }
}
