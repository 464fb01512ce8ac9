//! `firstlight new`: a suite that runs immediately, as a starting point.

use std::fs;

use firstlight_schema::exit_code::Exit;

use crate::error::Error;
use crate::printer::Printer;
use crate::settings::NewSettings;

const SUITE: &str = include_str!("../templates/suite.toml");
const WORKLOADS: [(&str, &str); 2] = [
    ("loop.py", include_str!("../templates/loop.py")),
    ("generator.py", include_str!("../templates/generator.py")),
];

pub(crate) fn new(settings: &NewSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let folder = &settings.folder;
    if folder.exists() {
        return Err(Error::Usage(format!("`{}` already exists", folder.display())));
    }
    fs::create_dir_all(folder).map_err(|error| Error::io("make", folder, &error))?;
    let suite = SUITE.replace("NAME", &settings.name);
    for (name, content) in WORKLOADS.into_iter().chain([("suite.toml", suite.as_str())]) {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|error| Error::io("write", &path, &error))?;
    }
    printer.data(&format!(
        "created {0}\n\nnext: firstlight run {0}\nguide: docs/guide/suites.md\n",
        folder.display()
    ));
    Ok(Exit::Ok)
}
