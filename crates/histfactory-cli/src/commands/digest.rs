//! `histfactory digest`: the digest of a workspace, as in pyhf.

use std::collections::BTreeMap;

use histfactory::workspace::digest as digest_of;

use crate::args::Format;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::printer::Printer;
use crate::settings::DigestSettings;

pub(crate) fn digest(settings: &DigestSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::document(&settings.source)?;
    let all = settings.algorithms.iter();
    let digests: BTreeMap<&str, String> =
        all.map(|(name, algorithm)| (name.as_str(), digest_of(&document, *algorithm))).collect();
    match settings.format {
        Format::Json => printer.data(&(serde_json::to_string_pretty(&digests)? + "\n")),
        Format::Text => {
            for (name, digest) in digests {
                printer.data(&format!("{name}:{digest}\n"));
            }
        }
    }
    Ok(Exit::Ok)
}
