//! `firstlight warm`: the warm regime of functions, without a suite.

use firstlight_analysis::stats::limits::FEWEST_FOR_VERDICT;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::privacy::Identity;
use firstlight_engine::process::{Show, adopt_orphans};
use firstlight_engine::python::Hooks;
use firstlight_engine::snapshot;
use firstlight_engine::store::{RunFolder, write_whole};
use firstlight_engine::suites;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::suite::Choice;

use super::measure::{Beginning, Job, measure, origin};
use crate::environment::{Wanted, environment};
use crate::error::Error;
use crate::output;
use crate::printer::Printer;
use crate::settings::WarmSettings;

pub(super) const NAME: &str = "warm";
const WORKLOAD: &str = include_str!("../templates/measured.py");

pub(crate) fn warm(settings: &WarmSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let few = usize::try_from(settings.processes).is_ok_and(|n| n < FEWEST_FOR_VERDICT);
    if settings.functions.len() > 1 && few {
        printer.aside(&format!(
            "no verdicts: {} processes of each function, {FEWEST_FOR_VERDICT} are needed",
            settings.processes
        ));
    }
    let destination = &settings.destination;
    output::open_export(destination)?;
    let interrupt = Interrupt::install()?;
    let store = RunFolder::create(&destination.runs, NAME, destination.output.as_deref())?;
    let folder = store.path().join("suite");
    std::fs::create_dir_all(&folder).map_err(|error| Error::io("make", &folder, &error))?;
    write_whole(&folder.join("measured.py"), WORKLOAD)?;
    let identity = destination.redact.then(Identity::here);
    let mut suite = suites::write(&folder, &settings.published(identity.as_ref()))?;
    suite.started = Some(suites::parse(&settings.suite_text())?);
    adopt_orphans()?;
    let asked =
        Wanted { python: settings.python.as_deref(), extras: &[], cache: &destination.cache };
    let (python, environment) = environment(&suite, asked, &interrupt, printer)?;
    let hooks = Hooks::lay_out(&destination.cache)?;
    if let Some(python) = &python {
        hooks.compile_for(python);
    }
    let origin = origin(&suite, &settings.argv, &Choice::default(), environment);
    snapshot::begin(store.path(), &origin, &suite)?;
    let job = Job {
        suite: &suite,
        python: python.as_deref(),
        show: Show::Tail,
        limit: None,
        report: settings.report,
        destination,
    };
    let beginning = Beginning { store, origin, earlier: Vec::new() };
    measure(&job, beginning, hooks, &interrupt, printer)
}
