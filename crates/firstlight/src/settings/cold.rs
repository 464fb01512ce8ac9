//! Settings of `firstlight cold`.

use std::io::IsTerminal as _;
use std::time::Duration;

use firstlight_engine::process::Show;
use firstlight_report::terminal::Report;
use firstlight_schema::cache::{CachePolicy, Policy};

use super::Destination;
use super::run::{report, written_down};
use crate::args::{ColdArgs, Format};
use crate::cold_suite::{Arm, ColdSuite, named, regimes};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct ColdSettings {
    pub(crate) suite: ColdSuite,
    /// As typed, without folders.
    pub(crate) argv: Vec<String>,
    pub(crate) show: Show,
    pub(crate) limit: Option<Duration>,
    pub(crate) report: Report,
    pub(crate) destination: Destination,
    /// Whether standard input has data that the command will not receive.
    pub(crate) unread_input: bool,
}

impl ColdSettings {
    pub(crate) fn resolve(args: ColdArgs, format: Format, typed: &[String]) -> Result<Self, Error> {
        if !matches!(args.page_cache, Policy::Clean | Policy::AsFound) {
            return Err(Error::Usage(format!(
                "the page cache can be `clean` or `as-found`, not `{}`",
                args.page_cache
            )));
        }
        if args.timeout.is_zero() {
            return Err(Error::Usage("--timeout must be greater than zero".to_owned()));
        }
        let (regimes, compilers) = regimes(&args.cache).map_err(Error::Usage)?;
        let stdin = args.stdin.as_ref().map(|path| {
            let found = path.canonicalize().map_err(|error| Error::io("read", path, &error))?;
            Ok::<_, Error>(found.to_string_lossy().into_owned())
        });
        let stdin = stdin.transpose()?;
        Ok(Self {
            unread_input: stdin.is_none() && is_piped(),
            suite: ColdSuite {
                arms: arms(args.arms, args.command)?,
                regimes,
                policy: CachePolicy {
                    compilers,
                    bytecode: args.bytecode,
                    page_cache: args.page_cache,
                },
                runs: args.runs,
                timeout: args.timeout,
                seed: args.seed,
                any_exit_code: args.ignore_exit_code,
                unhooked: args.control,
                stdin,
            },
            argv: written_down(typed, args.redact),
            show: match (args.show_output, format) {
                (false, _) => Show::Tail,
                (true, Format::Text) => Show::Inherit,
                (true, Format::Json) => Show::OnStderr,
            },
            limit: args.limit,
            report: report(&args.length),
            destination: Destination::new(format, args.export_json, args.output)
                .redacted(args.redact),
        })
    }
}

/// Whether standard input is a non-empty file or pipe, and not a terminal.
fn is_piped() -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let input = std::io::stdin();
    let kind = std::fs::metadata("/dev/stdin").map(|found| found.file_type());
    !input.is_terminal() && kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
}

/// The commands with their names. If the first word contains a space, each word is a whole command line.
fn arms(named_ones: Vec<(String, String)>, words: Vec<String>) -> Result<Vec<Arm>, Error> {
    let split = |line: &str| {
        let words = shlex::split(line).filter(|words| !words.is_empty());
        words.ok_or_else(|| Error::Usage(format!("invalid command `{line}`: check its quotes")))
    };
    let mut commands = Vec::new();
    let whole = words.first().is_some_and(|word| word.contains(' '));
    if whole {
        for line in &words {
            commands.push(split(line)?);
        }
    } else if !words.is_empty() {
        commands.push(words);
    }
    let mut arms = named(commands);
    for (name, line) in named_ones {
        if arms.iter().any(|arm| arm.name == name) {
            return Err(Error::Usage(format!("--arm: two commands are named `{name}`")));
        }
        arms.push(Arm { name, command: split(&line)? });
    }
    if arms.is_empty() {
        return Err(Error::Usage("no command to measure".to_owned()));
    }
    Ok(arms)
}
