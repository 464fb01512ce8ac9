//! Settings of `firstlight report`.

use std::path::PathBuf;

use crate::args::ReportArgs;

const FILE: &str = "report.html";

#[derive(Debug)]
pub(crate) struct ReportSettings {
    pub(crate) result: PathBuf,
    pub(crate) wanted: Wanted,
}

/// The format and the destination of the output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Page(PathBuf),
    PrintedPage,
    Markdown,
}

impl ReportSettings {
    pub(crate) fn resolve(args: ReportArgs) -> Self {
        let wanted = match args.output {
            _ if args.markdown => Wanted::Markdown,
            Some(path) if path.as_os_str() == "-" => Wanted::PrintedPage,
            Some(path) => Wanted::Page(path),
            None => Wanted::Page(PathBuf::from(FILE)),
        };
        Self { result: args.result, wanted }
    }
}
