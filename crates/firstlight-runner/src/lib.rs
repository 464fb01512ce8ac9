//! The runner side of firstlight's protocol, for workloads in Rust.
//!
//! A suite's arm with `command = [...]` starts a program that calls [`serve`]. All its times are on the clock
//! of the measuring process, so the ledger covers it like any other runner.
//!
//! ```no_run
//! use firstlight_runner::{Prepare, Workload, serve};
//!
//! struct Sum(Vec<f64>);
//!
//! impl Workload for Sum {
//!     type Output = f64;
//!
//!     fn call(&mut self) -> f64 {
//!         self.0.iter().sum()
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     serve(|_: &Prepare| Ok(Sum(vec![1.0; 1_000_000])))
//! }
//! ```

mod channel;
mod memory;
mod output;

use std::process::ExitCode;

use firstlight_schema::message::{
    At, Check, Edge, Event, FIRST_RESULT, Failed, Iterate, Iterations, Leaf, Mark, Message, Output,
    Part, PhaseEdge, Request, Settled, TimedEvent,
};
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;

pub use firstlight_schema::message::Prepare;
pub use firstlight_schema::suite::Scalar;

use channel::{Channel, now};

/// The number of calls in one message.
const BLOCK: usize = 4096;

/// An error with its message.
pub type Failure = Box<dyn std::error::Error>;

/// One task, ready to be called repeatedly.
pub trait Workload {
    type Output;

    /// Completes the task once: nothing may be left running when it returns.
    fn call(&mut self) -> Self::Output;

    /// Checks a result after the clock has stopped; `None` if there is nothing to check.
    fn check(&mut self, result: &Self::Output) -> Option<Result<(), Failure>> {
        let _ = result;
        None
    }

    /// The numbers of a result that must agree with other arms; `None` if it has none.
    fn values(&mut self, result: &Self::Output) -> Option<Vec<f64>> {
        let _ = result;
        None
    }
}

/// Answers the measuring process until it is done; `setup` creates the workload of the requested case.
pub fn serve<W: Workload>(setup: impl Fn(&Prepare) -> Result<W, Failure>) -> ExitCode {
    let entered = now();
    let Some(mut channel) = Channel::inherited() else { return ExitCode::from(2) };
    let mut session = Session { channel: &mut channel, workload: None };
    match session.serve(entered, setup) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let failed = Failed {
                at: now(),
                error: shortened(&error.to_string()),
                traceback: shortened(&causes(error.as_ref())),
            };
            channel.send(&Message::Failed(failed));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes, one on each line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut lines = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        lines.push(format!("caused by: {cause}"));
        source = cause.source();
    }
    lines.join("\n")
}

/// The beginning of a text, because lines of the protocol have a limited length.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 8_000;
    text.chars().take(LONGEST).collect()
}

struct Session<'a, W> {
    channel: &'a mut Channel,
    workload: Option<W>,
}

impl<W: Workload> Session<'_, W> {
    fn serve(
        &mut self,
        entered: Moment,
        setup: impl Fn(&Prepare) -> Result<W, Failure>,
    ) -> Result<(), Failure> {
        self.channel.hello(entered);
        self.edge(Edge::Begin, Phase::Probe, entered);
        while let Some(request) = self.channel.next()? {
            match request {
                Request::Prepare(prepare) => {
                    self.edge(Edge::Begin, Phase::Setup, now());
                    self.workload = Some(setup(&prepare)?);
                    self.edge(Edge::End, Phase::Setup, now());
                    self.channel.send(&Message::Ready(At { at: now() }));
                }
                Request::First => self.first()?,
                Request::WarmUp(asked) => {
                    self.calls(Phase::WarmUp, Part::WarmUp, &asked)?;
                }
                Request::Iterate(asked) => {
                    if let Some(output) = self.calls(Phase::Window, Part::Window, &asked)? {
                        self.check(&output);
                    }
                }
                Request::Settle(asked) => self.settle(&asked)?,
                Request::Finish => break,
                // For hooks; needs no answer.
                Request::Watch => {}
            }
        }
        self.edge(Edge::End, Phase::Probe, now());
        self.edge(Edge::Begin, Phase::Teardown, now());
        self.channel.send(&Message::Bye(At { at: now() }));
        Ok(())
    }

    fn edge(&mut self, edge: Edge, name: Phase, at: Moment) {
        let message = PhaseEdge { edge, name, label: None, at, thread: 0, detail: None };
        self.channel.send(&Message::Phase(message));
        let reading = memory::cut(name, at);
        if edge == Edge::End
            && let Some(reading) = reading
        {
            self.channel.send(&Message::Memory(reading));
        }
    }

    fn call(&mut self) -> Result<(W::Output, Moment, Moment), Failure> {
        let workload = self.workload.as_mut().ok_or("asked to run before prepare")?;
        let begin = now();
        let output = workload.call();
        Ok((output, begin, now()))
    }

    fn first(&mut self) -> Result<(), Failure> {
        self.edge(Edge::Begin, Phase::FirstRun, now());
        let (output, begin, end) = self.call()?;
        self.edge(Edge::End, Phase::FirstRun, end);
        let event = Event::Mark(Mark { name: FIRST_RESULT.to_owned() });
        self.channel.send(&Message::Event(TimedEvent { at: end, event }));
        self.send(Part::First, true, vec![(begin, end)]);
        self.check(&output);
        Ok(())
    }

    fn send(&mut self, part: Part, last: bool, spans: Vec<(Moment, Moment)>) {
        self.channel.send(&Message::Iterations(Iterations::single(part, last, spans)));
    }

    /// Calls the workload; readings are sent in blocks, between two calls. Returns the last result.
    fn calls(
        &mut self,
        phase: Phase,
        part: Part,
        asked: &Iterate,
    ) -> Result<Option<W::Output>, Failure> {
        self.edge(Edge::Begin, phase, now());
        let deadline = Deadline::new(asked);
        let mut spans = Vec::with_capacity(BLOCK);
        let mut result = None;
        for left in (0..asked.count).rev() {
            // The last result is freed before the clock starts, not while it runs.
            drop(result.take());
            let (output, begin, end) = self.call()?;
            result = Some(output);
            spans.push((begin, end));
            if deadline.is_over(asked.count - left, end) {
                break;
            }
            if spans.len() == BLOCK && left > 0 {
                self.send(part, false, std::mem::take(&mut spans));
            }
        }
        self.send(part, true, spans);
        self.edge(Edge::End, phase, now());
        Ok(result)
    }

    /// A call in Rust has finished when it returns, so there is nothing to wait for.
    fn settle(&mut self, asked: &Iterate) -> Result<(), Failure> {
        let deadline = Deadline::new(asked);
        let mut spans = Vec::new();
        for made in 1..=asked.count {
            let (_, begin, end) = self.call()?;
            spans.push((begin, end, end, end));
            if deadline.is_over(made, end) {
                break;
            }
        }
        self.channel.send(&Message::Settled(Settled { spans }));
        Ok(())
    }

    fn check(&mut self, output: &W::Output) {
        let verdict = self.workload.as_mut().and_then(|workload| workload.check(output));
        let (check, error) = match verdict {
            None => (Check::NotGiven, None),
            Some(Ok(())) => (Check::Passed, None),
            Some(Err(error)) => (Check::Failed, Some(error.to_string())),
        };
        let values = self.workload.as_mut().and_then(|workload| workload.values(output));
        let leaves: Vec<Leaf> = values.map(|values| output::leaf(&values)).into_iter().collect();
        let digest = leaves.first().and_then(|leaf| leaf.digest.clone());
        self.channel.send(&Message::Output(Output {
            check,
            error,
            digest,
            leaves,
            unread: 0,
            parameters: Vec::new(),
            inputs: Vec::new(),
        }));
    }
}

/// The time after which no further call begins.
struct Deadline {
    at: Option<Moment>,
    at_least: u32,
}

impl Deadline {
    fn new(asked: &Iterate) -> Self {
        Self { at: asked.within_ns.map(|within| now() + within), at_least: asked.at_least }
    }

    fn is_over(&self, made: u32, end: Moment) -> bool {
        made >= self.at_least && self.at.is_some_and(|at| end > at)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fmt;
    use std::num::ParseIntError;

    use super::causes;

    #[derive(Debug)]
    struct BadSeed(ParseIntError);

    impl fmt::Display for BadSeed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("invalid seed")
        }
    }

    impl Error for BadSeed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_error_is_reported_with_its_causes() {
        let error = BadSeed("x".parse::<u32>().unwrap_err());
        assert_eq!(causes(&error), "invalid seed\ncaused by: invalid digit found in string");
    }
}
