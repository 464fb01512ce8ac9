//! `firstlight trace --suite`: the arms of a suite's case, recorded.

use std::path::Path;

use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::{Show, adopt_orphans};
use firstlight_engine::python::Hooks;
use firstlight_engine::sampling::SuitePlan;
use firstlight_engine::store::write_whole;
use firstlight_engine::suites;
use firstlight_report::html::trace_page;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::suite_trace::{ArmTrace, SuiteTraceDocument};

use crate::args::Format;
use crate::environment::environment;
use crate::error::Error;
use crate::printer::Printer;
use crate::recorder::Recorder;
use crate::settings::{Made, RunSettings, Start, TraceSettings};

/// `firstlight trace --suite`.
pub(super) fn trace_suite(
    run: &RunSettings,
    folder: &Path,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let Start::Suite(name) = &run.start else { unreachable!("--suite cannot resume a run") };
    let mut suite = suites::open(name, &run.destination.cache)?;
    run.choice.apply(&mut suite.file).map_err(Error::Usage)?;
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let (python, _) = environment(&suite, run.environment(), &interrupt, printer)?;
    let recorder = Recorder {
        plan: &SuitePlan {
            suite: &suite,
            python: python.as_deref(),
            show: Show::Tail,
            deadline: None,
        },
        hooks: &Hooks::lay_out(&run.destination.cache)?,
        folder,
        limits: &settings.limits,
        interrupt: &interrupt,
    };
    let case = suite.file.cases.first().expect("a suite has a case");
    let traced = recorder.case(case, printer)?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).suite_trace(&traced, settings.rows),
        Format::Json => serde_json::to_string(&traced)? + "\n",
    };
    printer.data(&text);
    for made in &settings.made {
        make(made, &traced, printer)?;
    }
    let failed = traced.arms.iter().any(|arm| arm.failed.is_some());
    Ok(if failed { Exit::RunnerFailed } else { Exit::Ok })
}

fn make(made: &Made, traced: &SuiteTraceDocument, printer: &mut Printer) -> Result<(), Error> {
    match (made, traced.arms.as_slice()) {
        (Made::Page(path), [ArmTrace { trace: Some(only), .. }]) => {
            write_whole(path, &trace_page(only))?;
            printer.aside(&format!("wrote {}", path.display()));
            Ok(())
        }
        (Made::Page(_), _) => {
            Err(Error::Usage("--html needs exactly one arm: select it with --arm".to_owned()))
        }
        (Made::Speedscope(_), _) => {
            Err(Error::Usage("--export needs a trace: pass one that --keep wrote".to_owned()))
        }
    }
}
