//! `firstlight cold`: the ledger of any command, unchanged. Several commands are compared.

use firstlight_analysis::stats::limits::FEWEST_FOR_VERDICT;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::privacy::Identity;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::python::{Hooks, resolve};
use firstlight_engine::snapshot;
use firstlight_engine::store::RunFolder;
use firstlight_engine::suites;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::EnvironmentKind;
use firstlight_schema::suite::Choice;

use super::measure::{Beginning, Job, measure, origin};
use crate::cold_suite;
use crate::environment::record;
use crate::error::Error;
use crate::output;
use crate::printer::Printer;
use crate::settings::ColdSettings;

pub(crate) fn cold(settings: &ColdSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let mut programs = Vec::new();
    for arm in &settings.suite.arms {
        programs.push(resolve(&arm.command[0])?.program);
        interrupt.check()?;
    }
    let few = usize::try_from(settings.suite.runs).is_ok_and(|runs| runs < FEWEST_FOR_VERDICT);
    if programs.len() > 1 && few {
        printer.aside(&format!(
            "no verdicts: {} processes of each command, {FEWEST_FOR_VERDICT} are needed",
            settings.suite.runs
        ));
    }
    if settings.unread_input {
        printer.aside("the command's standard input is empty; --stdin FILE hands a file to it");
    }
    output::open_export(&settings.destination)?;
    let hooks = Hooks::lay_out(&settings.destination.cache)?;
    for program in &programs {
        hooks.compile_for(program);
    }
    let destination = &settings.destination;
    let store =
        RunFolder::create(&destination.runs, cold_suite::NAME, destination.output.as_deref())?;
    let identity = destination.redact.then(Identity::here);
    let published = settings.suite.published(identity.as_ref());
    let mut suite = suites::write(&store.path().join("suite"), &published.text())?;
    suite.started = Some(suites::parse(&settings.suite.text())?);
    let environment = record(EnvironmentKind::AsFound);
    let origin = origin(&suite, &settings.argv, &Choice::default(), environment);
    snapshot::begin(store.path(), &origin, &suite)?;
    let job = Job {
        suite: &suite,
        python: None,
        show: settings.show,
        limit: settings.limit,
        report: settings.report,
        destination,
    };
    let beginning = Beginning { store, origin, earlier: Vec::new() };
    measure(&job, beginning, hooks, &interrupt, printer)
}
