//! `firstlight conformance`: does a runner in another language keep to the protocol?

use std::path::PathBuf;

use firstlight_analysis::conformance::{Played, requirements};
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::{Launch, Show, Stage, Start, adopt_orphans};
use firstlight_engine::python::{Hooks, resolve};
use firstlight_engine::store::cache_folder;
use firstlight_report::terminal::Terminal;
use firstlight_schema::conformance::{ConformanceDocument, ConversationResult};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::message::Request;
use firstlight_schema::validation::RuleOutcome;

use crate::args::Format;
use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;
use crate::settings::ConformanceSettings;

/// Conversations of `fixtures/protocol/accept/`, whose requests are sent to the runner.
const CONVERSATIONS: [(&str, &str); 5] = [
    ("a cold start", include_str!("../../embedded/conversations/runner.txt")),
    ("a warm process", include_str!("../../embedded/conversations/runner-warm.txt")),
    ("two windows", include_str!("../../embedded/conversations/runner-iterates.txt")),
    ("a time limit", include_str!("../../embedded/conversations/runner-stops-early.txt")),
    (
        "a request without `prepare`",
        include_str!("../../embedded/conversations/runner-unprepared.txt"),
    ),
];

/// The command of firstlight's own runner.
const PYTHON: [&str; 3] = ["python3", "-c", "from firstlight.runner import main; main()"];

pub(crate) fn conformance(
    settings: &ConformanceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let scratch = tempfile::tempdir()
        .map_err(|error| Error::io("write to", &std::env::temp_dir(), &error))?;
    let mut stage = Stage::new(scratch.path(), &interrupt)?;
    let launch = launch(settings)?;
    let mut conversations = Vec::new();
    for (name, fixture) in CONVERSATIONS {
        let requests = requests(fixture, settings);
        let launch = Launch { requests: requests.clone(), ..launch.clone() };
        let seen = stage.observe(&mut Start::new(launch)?)?;
        interrupt.check()?;
        let requirements = requirements(Played {
            requests: &requests,
            messages: &seen.messages,
            outcome: &seen.outcome,
            survivors: seen.survivors,
            stderr: &seen.streams.stderr_tail,
        });
        conversations.push(ConversationResult { name: name.to_owned(), requirements });
    }
    let document = document(settings, conversations);
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).conformance(&document),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    Ok(if document.passed { Exit::Ok } else { Exit::VerificationFailed })
}

fn launch(settings: &ConformanceSettings) -> Result<Launch, Error> {
    let command = command(settings);
    let variables = if settings.command.is_empty() {
        Hooks::lay_out(&cache_folder())?.variables()
    } else {
        Vec::new()
    };
    Ok(Launch {
        program: resolve(&command[0])?.program,
        arguments: command[1..].iter().map(Into::into).collect(),
        directory: None::<PathBuf>,
        variables,
        requests: Vec::new(),
        timeout: settings.timeout,
        show: Show::Tail,
        stdin: None,
        interpreter: None,
    })
}

fn command(settings: &ConformanceSettings) -> Vec<String> {
    if settings.command.is_empty() {
        return PYTHON.map(str::to_owned).to_vec();
    }
    settings.command.clone()
}

/// The requests of a conversation, with the user's `prepare`.
fn requests(fixture: &str, settings: &ConformanceSettings) -> Vec<Request> {
    let asked = fixture.lines().filter_map(|line| line.strip_prefix("> "));
    asked
        .map(|line| serde_json::from_str(line).expect("requests of a fixture are valid"))
        .map(|request| match request {
            Request::Prepare(_) => Request::Prepare(settings.prepare.clone()),
            other => other,
        })
        .collect()
}

fn document(
    settings: &ConformanceSettings,
    conversations: Vec<ConversationResult>,
) -> ConformanceDocument {
    let mut results = conversations.iter().flat_map(|one| &one.requirements);
    ConformanceDocument {
        schema: ConformanceDocument::schema_id(),
        firstlight: build(),
        command: command(settings),
        passed: results.all(|result| result.outcome == RuleOutcome::Pass),
        conversations,
    }
}
