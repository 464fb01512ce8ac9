//! `firstlight trace`: shows a profiler's recording step by step, compares two, or records a program or a
//! suite's arms now.

use std::fs;
use std::path::Path;
use std::time::Duration;

use firstlight_engine::cache::PrivateFolder;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::process::adopt_orphans;
use firstlight_engine::recording::{Work, record};
use firstlight_engine::store::{write_bytes, write_whole};
use firstlight_report::html::{trace_comparison_page, trace_page};
use firstlight_report::terminal::Terminal;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::trace::TraceDocument;
use firstlight_trace::{Logs, Opened, TorchTrace, check_cache, compare, open, speedscope};

use super::suite_trace::trace_suite;
use crate::args::Format;
use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;
use crate::recorder::combine;
use crate::settings::{Made, TraceSettings, TraceSource};

pub(crate) fn trace(settings: &TraceSettings, printer: &mut Printer) -> Result<Exit, Error> {
    match &settings.source {
        TraceSource::File(path) => {
            let (opened, mut document) = read(path, settings, printer)?;
            match &settings.against {
                Some(other) => against(&document, other, settings, printer),
                None => show(&mut document, Some(&opened), settings, printer),
            }
        }
        TraceSource::Record { command, timeout, keep } => in_folder(keep.as_deref(), |folder| {
            recorded(command, *timeout, folder, settings, printer)
        }),
        TraceSource::Suite { run, keep } => {
            in_folder(keep.as_deref(), |folder| trace_suite(run, folder, settings, printer))
        }
    }
}

fn read(
    path: &Path,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<(Opened, TraceDocument), Error> {
    let mut logs = Logs::beside(path);
    if let Some(path) = &settings.torch_trace {
        logs.torch = log(path)?;
    }
    let mut opened = open(path, &settings.limits)?;
    if let Some(bytes) = opened.in_pieces() {
        let megabytes = bytes.div_ceil(1 << 20);
        printer.aside(&format!(
            "{megabytes} MB of events exceed --memory: reading the file once per piece"
        ));
    }
    let name = opened.path.display().to_string();
    let document = opened.document(&name, Some(&logs), build())?;
    Ok((opened, document))
}

fn log(path: &Path) -> Result<TorchTrace, Error> {
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
    Ok(TorchTrace::parse(&String::from_utf8_lossy(&bytes)))
}

fn show(
    document: &mut TraceDocument,
    opened: Option<&Opened>,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    if let Some(policy) = settings.cache {
        check_cache(document, policy);
    }
    let document = &*document;
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
                    let words = "--export needs a trace: pass one that --keep wrote".to_owned();
                    return Err(Error::Usage(words));
                };
                if let Some(bytes) = opened.in_pieces() {
                    let megabytes = bytes.div_ceil(1 << 20);
                    let words =
                        format!("--export needs all events in memory: pass --memory {megabytes}");
                    return Err(Error::Usage(words));
                }
                let mut content = Vec::new();
                speedscope(&opened.trace, &document.recording.file, &mut content)
                    .map_err(|error| Error::Usage(format!("cannot export the trace: {error}")))?;
                write_bytes(path, &content)?;
                path
            }
        };
        printer.aside(&format!("wrote {}", path.display()));
    }
    let contradicts =
        |reason: &Reason| matches!(reason.finding, Finding::CacheNotClean | Finding::CacheNeverHit);
    let wrong = document.findings.iter().any(contradicts);
    Ok(if wrong { Exit::VerificationFailed } else { Exit::Ok })
}

fn against(
    document: &TraceDocument,
    other: &Path,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let (_, first) = read(other, settings, printer)?;
    let comparison = compare(&first, document, build());
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).trace_comparison(&comparison, settings.rows),
        Format::Json => serde_json::to_string(&comparison)? + "\n",
    };
    printer.data(&text);
    for made in &settings.made {
        if let Made::Page(path) = made {
            write_whole(path, &trace_comparison_page(&comparison))?;
            printer.aside(&format!("wrote {}", path.display()));
        }
    }
    Ok(if comparison.wall.is_some() { Exit::Ok } else { Exit::Inconclusive })
}

fn recorded(
    command: &[String],
    timeout: Duration,
    folder: &Path,
    settings: &TraceSettings,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let interrupt = Interrupt::install()?;
    adopt_orphans()?;
    let work = Work::Command { words: command, timeout };
    let runs = record(&work, folder, &interrupt, |tracing| {
        printer.aside(&format!("running {}", tracing.name()));
    })?;
    show(&mut combine(runs, &settings.limits)?, None, settings, printer)
}

/// Traces go to the folder of `--keep`, or to a temporary one.
fn in_folder(
    keep: Option<&Path>,
    then: impl FnOnce(&Path) -> Result<Exit, Error>,
) -> Result<Exit, Error> {
    let cannot = |error| Error::Usage(format!("cannot create a folder for the traces: {error}"));
    match keep {
        Some(folder) => {
            fs::create_dir_all(folder).map_err(cannot)?;
            then(folder)
        }
        None => then(PrivateFolder::new()?.path()),
    }
}
