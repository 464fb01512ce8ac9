//! `histfactory patchset`: applies, prints and verifies patch sets.

use std::fmt::Write;

use super::made;
use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::show;
use crate::printer::Printer;
use crate::settings::PatchsetSettings;

pub(crate) fn patchset(settings: &PatchsetSettings, printer: &mut Printer) -> Result<Exit, Error> {
    match settings {
        PatchsetSettings::Apply { workspace, set, name, destination } => {
            let set = opening::patch_set(set)?;
            let workspace = set.apply(&opening::document(workspace)?, name)?;
            made(&workspace, destination, printer)
        }
        PatchsetSettings::Verify { workspace, set } => {
            let set = opening::patch_set(set)?;
            set.verify(&opening::document(workspace)?)?;
            printer.data("the patch set was made for this workspace\n");
            Ok(Exit::Ok)
        }
        PatchsetSettings::Extract { set, name: Some(name), destination } => {
            let set = opening::patch_set(set)?;
            let patch = &set.get(name)?.patch;
            show(patch, String::new, destination, printer)?;
            Ok(Exit::Ok)
        }
        PatchsetSettings::Extract { set, name: None, .. } => {
            let set = opening::patch_set(set)?;
            let mut text = format!("name: {}\n", set.metadata.labels.join(", "));
            for entry in &set.patches {
                let values: Vec<String> = entry.values.iter().map(ToString::to_string).collect();
                writeln!(text, "{}: {}", entry.name, values.join(", "))
                    .expect("writing to a string");
            }
            printer.data(&text);
            Ok(Exit::Ok)
        }
    }
}
