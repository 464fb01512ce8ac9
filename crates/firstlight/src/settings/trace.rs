//! Settings of `firstlight trace`.

use std::path::PathBuf;
use std::time::Duration;

use firstlight_report::terminal::Report;
use firstlight_schema::cache::Policy;
use firstlight_schema::suite::Choice;
use firstlight_trace::Limits;

use super::{Destination, RunSettings, Start};
use crate::args::{Format, TraceArgs, TraceExport};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct TraceSettings {
    pub(crate) source: TraceSource,
    /// The trace to compare with.
    pub(crate) against: Option<PathBuf>,
    pub(crate) torch_trace: Option<PathBuf>,
    /// The declared policy of the compilers' caches.
    pub(crate) cache: Option<Policy>,
    pub(crate) limits: Limits,
    pub(crate) rows: usize,
    pub(crate) made: Vec<Made>,
    pub(crate) format: Format,
}

/// The source of the trace.
#[derive(Debug)]
pub(crate) enum TraceSource {
    File(PathBuf),
    Record { command: Vec<String>, timeout: Duration, keep: Option<PathBuf> },
    Suite { run: Box<RunSettings>, keep: Option<PathBuf> },
}

/// A file that is written in addition to the printed output.
#[derive(Debug)]
pub(crate) enum Made {
    Page(PathBuf),
    Speedscope(PathBuf),
}

impl TraceSettings {
    pub(crate) fn resolve(args: TraceArgs, format: Format) -> Result<Self, Error> {
        if args.keep.is_some() && !args.record && args.suite.is_none() {
            return Err(Error::Usage("--keep needs --record or --suite".to_owned()));
        }
        let source = match (args.trace, args.record) {
            (Some(trace), false) => TraceSource::File(trace),
            (None, false) if args.suite.is_some() => TraceSource::Suite {
                run: Box::new(RunSettings {
                    node: None,
                    start: Start::Suite(args.suite.unwrap_or_default()),
                    limit: None,
                    choice: Choice {
                        cases: args.case.into_iter().collect(),
                        arms: args.arms,
                        profile: args.profile,
                        set: args.set.into_iter().collect(),
                        extras: args.extras,
                        ..Choice::default()
                    },
                    argv: Vec::new(),
                    report: Report::Usual,
                    python: args.python,
                    destination: Destination::new(format, None, None),
                }),
                keep: args.keep,
            },
            (None, true) if !args.command.is_empty() => TraceSource::Record {
                command: args.command,
                timeout: args.timeout,
                keep: args.keep,
            },
            (None, true) => {
                return Err(Error::Usage("no command to record: pass it after `--`".to_owned()));
            }
            (_, _) => {
                return Err(Error::Usage(
                    "pass a trace, --suite, or --record with a command".to_owned(),
                ));
            }
        };
        let mut made: Vec<Made> = args.html.into_iter().map(Made::Page).collect();
        if let (Some(TraceExport::Speedscope), Some(path)) = (args.export, args.output) {
            made.push(Made::Speedscope(path));
        }
        Ok(Self {
            source,
            against: args.against,
            torch_trace: args.torch_trace,
            cache: args.cache,
            limits: Limits { memory: args.memory << 20, ..Limits::default() },
            rows: args.rows,
            made,
            format,
        })
    }
}
