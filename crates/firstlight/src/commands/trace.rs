//! `firstlight trace`: a profiler's recording, step by step; two of them, compared; or a program that is
//! recorded now.

use std::fs;
use std::path::Path;

use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::recording::record;
use firstlight_engine::store::{write_bytes, write_whole};
use firstlight_report::html::trace_page;
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::trace::TraceDocument;
use firstlight_trace::{Opened, Run, TorchTrace, combined, compare, document, open, speedscope};

use super::build;
use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::settings::{Made, TraceSettings, TraceSource};

pub(crate) fn trace(settings: &TraceSettings, printer: &mut Printer) -> Result<Exit, Error> {
    match &settings.source {
        TraceSource::File(path) => {
            let (opened, document) = read(path, settings)?;
            match &settings.against {
                Some(other) => against(&document, other, settings, printer),
                None => show(&document, Some(&opened), settings, printer),
            }
        }
        TraceSource::Record { .. } => recorded(settings, printer),
    }
}

fn read(path: &Path, settings: &TraceSettings) -> Result<(Opened, TraceDocument), Error> {
    let log = settings.torch_trace.as_deref().map(log).transpose()?;
    let opened = open(path, &settings.limits)?;
    let name = opened.path.display().to_string();
    let document = document(&opened.trace, &name, log.as_ref(), build());
    Ok((opened, document))
}

fn log(path: &Path) -> Result<TorchTrace, Error> {
    let bytes = fs::read(path)
        .map_err(|error| Error::Usage(format!("cannot read `{}`: {error}", path.display())))?;
    Ok(TorchTrace::parse(&String::from_utf8_lossy(&bytes)))
}

fn show(
    document: &TraceDocument,
    opened: Option<&Opened>,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).trace(document, settings.rows),
        Format::Json => serde_json::to_string(document)? + "\n",
    };
    printer.data(&text);
    for made in &settings.made {
        let path = match made {
            Made::Page(path) => {
                write_whole(path, &trace_page(document))?;
                path
            }
            Made::Speedscope(path) => {
                let Some(opened) = opened else {
                    let words = "--export takes a trace: give one that --keep has kept".to_owned();
                    return Err(Error::Usage(words));
                };
                let mut content = Vec::new();
                speedscope(&opened.trace, &document.recording.file, &mut content)
                    .map_err(|error| Error::Usage(format!("cannot export the trace: {error}")))?;
                write_bytes(path, &content)?;
                path
            }
        };
        printer.aside(&format!("wrote {}", path.display()));
    }
    Ok(Exit::Ok)
}

fn against(
    document: &TraceDocument,
    other: &Path,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let (_, first) = read(other, settings)?;
    let comparison = compare(&first, document, build());
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).trace_comparison(&comparison, settings.rows),
        Format::Json => serde_json::to_string(&comparison)? + "\n",
    };
    printer.data(&text);
    Ok(if comparison.wall.is_some() { Exit::Ok } else { Exit::Inconclusive })
}

fn recorded(settings: &TraceSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let TraceSource::Record { command, timeout, keep } = &settings.source else {
        return Err(Error::Usage("no command to record".to_owned()));
    };
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let cannot = |error| Error::Usage(format!("cannot make a folder for the recordings: {error}"));
    let temporary;
    let folder = if let Some(folder) = keep {
        fs::create_dir_all(folder).map_err(cannot)?;
        folder.as_path()
    } else {
        temporary = tempfile::tempdir().map_err(cannot)?;
        temporary.path()
    };
    let runs = record(command, folder, *timeout, &interrupt, |tracing| {
        printer.aside(&format!("running {}", tracing.name()));
    })?;
    let mut read_runs = Vec::new();
    for run in runs {
        let document = match &run.profile {
            Some(profile) => Some(read(profile, settings)?.1),
            None => None,
        };
        #[expect(clippy::cast_precision_loss, reason = "a step is shorter than 2^53 nanoseconds")]
        let steps =
            run.steps.iter().map(|(start, end)| end.saturating_sub(*start) as f64).collect();
        read_runs.push(Run { tracing: run.tracing, steps, wall: run.wall, document });
    }
    match combined(&read_runs) {
        Some(document) => show(&document, None, settings, printer),
        None => Err(Error::Usage("nothing was recorded".to_owned())),
    }
}
