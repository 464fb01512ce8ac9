//! `firstlight publish`: a static site over many snapshots.

use firstlight_engine::store::write_whole;
use firstlight_report::words::format::count;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::site::STATE;
use serde::Serialize;

use crate::args::Format;
use crate::error::Error;
use crate::printer::Printer;
use crate::publishing::{self, Publication, Refused};
use crate::settings::PublishSettings;

/// The output of `--format json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Summary<'a> {
    site: String,
    snapshots: usize,
    regressions: usize,
    written: &'a [String],
    refused: &'a [Refused],
}

pub(crate) fn publish(settings: &PublishSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let (state, publication) = publishing::publish(&settings.snapshots, &settings.site)?;
    // Written last: if pages are missing, the next run checks them again.
    let path = settings.site.join(STATE);
    write_whole(&path, &(serde_json::to_string(&state)? + "\n"))?;
    let Publication { written, regressions, refused } = &publication;
    for one in refused {
        printer.talk(&format!("refused: {}: {}", one.name, one.reason));
    }
    let site = settings.site.display().to_string();
    let snapshots = state.snapshots.len();
    let regressions = *regressions;
    match settings.format {
        Format::Json => {
            let summary = Summary { site, snapshots, regressions, written, refused };
            printer.data(&(serde_json::to_string(&summary)? + "\n"));
        }
        Format::Text => printer.data(&format!(
            "{site}/index.html: {}, {}; {} written\n",
            count(snapshots as u64, "snapshot"),
            count(regressions as u64, "regression"),
            count(written.len() as u64, "page"),
        )),
    }
    Ok(if refused.is_empty() { Exit::Ok } else { Exit::VerificationFailed })
}
