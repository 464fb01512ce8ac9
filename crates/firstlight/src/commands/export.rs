//! `firstlight export`: a stored result in the format of another tool.

use firstlight_engine::store::write_bytes;
use firstlight_report::export;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::RunDocument;

use crate::args::ExportFormat;
use crate::error::Error;
use crate::opening;
use crate::printer::Printer;
use crate::settings::{ExportSettings, Output};

pub(crate) fn export(settings: &ExportSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::run(&settings.result)?;
    let content = content(settings.to, &document)?;
    match &settings.output {
        Output::Standard if settings.to == ExportFormat::Parquet && printer.is_terminal() => {
            return Err(Error::Usage(
                "cannot print parquet to a terminal: pass a file with --output".to_owned(),
            ));
        }
        Output::Standard => printer.bytes(&content),
        Output::File(path) => {
            write_bytes(path, &content)?;
            printer.aside(&format!("wrote {}", path.display()));
        }
    }
    Ok(Exit::Ok)
}

fn content(format: ExportFormat, document: &RunDocument) -> Result<Vec<u8>, Error> {
    Ok(match format {
        ExportFormat::Csv => export::csv(document).into_bytes(),
        ExportFormat::Parquet => parquet(document)?,
        ExportFormat::Pyperf => export::pyperf(document).into_bytes(),
        ExportFormat::Bencher => export::bencher(document).into_bytes(),
        ExportFormat::Junit => export::junit(document).into_bytes(),
        ExportFormat::Speedscope => export::speedscope(document).into_bytes(),
        ExportFormat::GithubActionBenchmark => {
            export::github_action_benchmark(document).into_bytes()
        }
    })
}

#[cfg(feature = "parquet")]
fn parquet(document: &RunDocument) -> Result<Vec<u8>, Error> {
    export::parquet(document)
        .map_err(|error| Error::Usage(format!("cannot write the result as parquet: {error}")))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &RunDocument) -> Result<Vec<u8>, Error> {
    Err(Error::Usage(
        "this firstlight was built without parquet: build it with --features parquet, or use csv"
            .to_owned(),
    ))
}
