//! `firstlight compare`: two arms of one result, or the same arms of two.

use firstlight_analysis::results::{compare_arms, compare_results, differences, gate};
use firstlight_report::terminal::Terminal;
use firstlight_schema::comparison::{Comparison, ComparisonDocument, Gate, Side};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::RunDocument;

use super::build;
use crate::args::Format;
use crate::error::Error;
use crate::opening;
use crate::printer::Printer;
use crate::settings::{CompareSettings, Sides};

pub(crate) fn compare(settings: &CompareSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = document(settings)?;
    if document.comparisons.is_empty() {
        return Err(Error::Usage(
            "the two sides have no case, arm and regime in common".to_owned(),
        ));
    }
    let text = match settings.format {
        Format::Text => Terminal::new(printer.width()).comparison(&document),
        Format::Json => serde_json::to_string(&document)? + "\n",
    };
    printer.data(&text);
    Ok(match document.gate {
        None | Some(Gate::Passed) => Exit::Ok,
        Some(Gate::Failed) => Exit::GateFailed,
        Some(Gate::Inconclusive) => Exit::Inconclusive,
    })
}

fn document(settings: &CompareSettings) -> Result<ComparisonDocument, Error> {
    let (margins, regimes) = (&settings.margins, &settings.regimes);
    Ok(match &settings.sides {
        Sides::Results(first, second) => {
            let (first, second) = (opening::run(first)?, opening::run(second)?);
            let comparisons = compare_results(&first, &second, margins, regimes);
            let differences = differences(&first, &second);
            let sides = (side(&first, None), side(&second, None));
            assemble(settings, sides, false, comparisons, differences)
        }
        Sides::Arms(result, first, second) => {
            let result = opening::run(result)?;
            for name in [first, second] {
                known(&result, name)?;
            }
            let comparisons = compare_arms(&result, first, second, margins, regimes);
            let (first, second) = (side(&result, Some(first)), side(&result, Some(second)));
            assemble(settings, (first, second), is_paired(&result), comparisons, Vec::new())
        }
        Sides::Reference(result) => {
            let result = opening::run(result)?;
            let mut comparisons = Vec::new();
            for case in &result.cases {
                for arm in case.arms.iter().filter(|arm| arm.name != case.reference) {
                    let found = compare_arms(&result, &case.reference, &arm.name, margins, regimes);
                    comparisons.extend(found.into_iter().filter(|one| one.case == case.name));
                }
            }
            let sides = (side(&result, None), side(&result, None));
            assemble(settings, sides, is_paired(&result), comparisons, Vec::new())
        }
    })
}

/// Whether the processes took turns; in which order another tool made them is unknown.
fn is_paired(result: &RunDocument) -> bool {
    result.imported.is_none()
}

fn known(result: &RunDocument, name: &str) -> Result<(), Error> {
    let mut arms: Vec<&str> =
        result.cases.iter().flat_map(|case| &case.arms).map(|arm| arm.name.as_str()).collect();
    arms.sort_unstable();
    arms.dedup();
    if arms.contains(&name) {
        return Ok(());
    }
    Err(Error::Usage(format!("the result has no arm `{name}`, only {}", arms.join(", "))))
}

fn side(document: &RunDocument, arm: Option<&str>) -> Side {
    Side {
        suite: document.suite.clone(),
        created: document.created.clone(),
        arm: arm.map(str::to_owned),
        timeout_ns: document.timeout_ns,
    }
}

fn assemble(
    settings: &CompareSettings,
    (first, second): (Side, Side),
    paired: bool,
    comparisons: Vec<Comparison>,
    differences: Vec<String>,
) -> ComparisonDocument {
    ComparisonDocument {
        schema: ComparisonDocument::schema_id(),
        firstlight: build(),
        first,
        second,
        paired,
        gate: settings.gate.then(|| gate(&comparisons)),
        comparisons,
        differences,
    }
}
