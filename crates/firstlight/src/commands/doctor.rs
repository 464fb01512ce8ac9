//! `firstlight doctor`: checks whether this machine is suitable for measurements.

use firstlight_analysis::health::checks;
use firstlight_engine::doctor::examine;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::machine;
use firstlight_engine::process::adopt_orphans;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::health::HealthDocument;

use crate::args::Format;
use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;
use crate::settings::DoctorSettings;

pub(crate) fn doctor(settings: &DoctorSettings, printer: &mut Printer) -> Result<Exit, Error> {
    // Driver tools may hang; the first signal kills them.
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let document = document();
    interrupt.check()?;
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).doctor(&document),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    Ok(Exit::Ok)
}

fn document() -> HealthDocument {
    let state = examine();
    HealthDocument {
        schema: HealthDocument::schema_id(),
        firstlight: build(),
        machine: machine::describe(),
        checks: checks(&state),
        state,
    }
}
