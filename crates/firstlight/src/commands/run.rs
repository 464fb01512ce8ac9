//! `firstlight run`: a suite, all its cases, arms and regimes.

use firstlight_analysis::stats::limits::FEWEST_FOR_VERDICT;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::packing;
use firstlight_engine::process::{Show, adopt_orphans};
use firstlight_engine::python::Hooks;
use firstlight_engine::secrets;
use firstlight_engine::snapshot;
use firstlight_engine::store::RunFolder;
use firstlight_engine::suites;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::suite::{ArmFile, ExtraFile, Regime, SuiteFile};

use super::measure::{Beginning, Job, measure, origin};
use super::resume::{Further, resume};
use super::slurm::{attach, run_on_slurm};
use crate::environment::environment;
use crate::error::Error;
use crate::output;
use crate::printer::Printer;
use crate::settings::{RunSettings, Start};

pub(crate) fn run(settings: &RunSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let destination = &settings.destination;
    let name = match &settings.start {
        Start::Suite(name) => name,
        Start::Launched(name) => return run_on_slurm(name, settings, printer),
        Start::Attached(folder) => return attach(folder, settings, printer),
        Start::Resumed(asked) => {
            let further = Further {
                python: settings.python.as_deref(),
                limit: settings.limit,
                report: settings.report,
                node: settings.node.as_deref(),
                destination,
            };
            return resume(asked, &further, printer);
        }
    };
    let mut suite = suites::open(name, &destination.cache)?;
    let left_out = left_out(&suite.file, settings);
    secrets::refuse_parameters(&settings.choice.set)?;
    settings.choice.apply(&mut suite.file).map_err(Error::Usage)?;
    for line in left_out {
        printer.aside(&line);
    }
    check_limits(&suite.file, settings, printer)?;
    output::open_export(destination)?;
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let (python, environment) = environment(&suite, settings.environment(), &interrupt, printer)?;
    let hooks = Hooks::lay_out(&destination.cache)?;
    if let Some(python) = &python {
        hooks.compile_for(python);
    }
    let store =
        RunFolder::create(&destination.runs, &suite.file.name, destination.output.as_deref())?;
    printer.aside(&format!(
        "{}: environment {}",
        suite.file.name,
        environment.python.as_deref().unwrap_or("not needed"),
    ));
    printer.aside(&packing::describe(&suite.files));
    let mut origin = origin(&suite, &settings.argv, &settings.choice, environment);
    origin.node.clone_from(&settings.node);
    snapshot::begin(store.path(), &origin, &suite)?;
    let job = Job {
        suite: &suite,
        python: python.as_deref(),
        show: Show::Tail,
        limit: settings.limit,
        report: settings.report,
        destination,
    };
    let beginning = Beginning { store, origin, earlier: Vec::new() };
    measure(&job, beginning, hooks, &interrupt, printer)
}

/// Rejects a suite whose own limits allow no verdict, and warns if the user asks for too few processes.
fn check_limits(
    suite: &SuiteFile,
    settings: &RunSettings,
    printer: &mut Printer,
) -> Result<(), Error> {
    let compares = suite.cases.iter().any(|case| suite.arms_of(case).count() > 1);
    if !compares || !suite.comparison.verdicts {
        return Ok(());
    }
    let most = |regime: Regime| match regime {
        Regime::Warm => ("warm.most-processes", suite.warm.most_processes),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
            ("sampling.processes", suite.sampling.processes)
        }
    };
    let few = |&(_, most): &(&str, u32)| {
        usize::try_from(most).is_ok_and(|most| most < FEWEST_FOR_VERDICT)
    };
    let Some((name, most)) = suite.regimes.iter().map(|&regime| most(regime)).find(few) else {
        return Ok(());
    };
    if settings.choice.processes.is_some() || settings.choice.profile.is_some() {
        let needed = FEWEST_FOR_VERDICT;
        printer.aside(&format!("no verdicts: {most} processes of each arm, {needed} are needed"));
        return Ok(());
    }
    Err(Error::Limits { name, most, needed: FEWEST_FOR_VERDICT })
}

/// A line for each extra that was not requested and whose arms are skipped.
fn left_out(suite: &SuiteFile, settings: &RunSettings) -> Vec<String> {
    let extras = suite
        .extras()
        .filter(|(name, _)| !settings.choice.extras.iter().any(|asked| asked == name));
    let line = |(name, extra): (&str, &ExtraFile)| {
        let needs = |arm: &&ArmFile| arm.extra.as_ref().is_some_and(|own| own.get_ref() == name);
        let arms: Vec<&str> =
            suite.arms.iter().filter(needs).map(|arm| arm.name.get_ref().as_str()).collect();
        let (them, about) = (if arms.len() == 1 { "it" } else { "them" }, &extra.about);
        let arms = Some(arms.join(", ")).filter(|arms| !arms.is_empty())?;
        Some(format!("skipped: {arms}; `--extra {name}` measures {them} ({about})"))
    };
    extras.filter_map(line).collect()
}
