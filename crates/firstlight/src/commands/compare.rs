//! `firstlight compare`: two arms of one result, or the same arms of two.

use firstlight_analysis::replication::{replicate, replication};
use firstlight_analysis::results::{
    compare_arms, compare_results, compare_with_reference, differences, doubts, gate, missing,
};
use firstlight_report::terminal::Terminal;
use firstlight_schema::comparison::{Comparison, ComparisonDocument, Gate, Replication, Side};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::run::RunDocument;

use crate::args::Format;
use crate::error::Error;
use crate::harness::build;
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
    Ok(match (document.gate, document.replication) {
        (Some(Gate::Failed), _) | (_, Some(Replication::NotReplicated)) => Exit::GateFailed,
        (Some(Gate::Inconclusive), _) | (_, Some(Replication::Inconclusive)) => Exit::Inconclusive,
        (None | Some(Gate::Passed), None | Some(Replication::Replicated)) => Exit::Ok,
    })
}

fn document(settings: &CompareSettings) -> Result<ComparisonDocument, Error> {
    let (margins, regimes) = (&settings.margins, &settings.regimes);
    let known_margins = |documents: &[&RunDocument]| match margins.unknown(documents) {
        Some(case) => Err(Error::Usage(format!("--margin: no case named `{case}`"))),
        None => Ok(()),
    };
    Ok(match &settings.sides {
        Sides::Results(first, second) => {
            let (first, second) = (opening::run(first)?, opening::run(second)?);
            known_margins(&[&first, &second])?;
            let comparisons = if settings.replication {
                replicate(&first, &second, margins, regimes)
            } else {
                compare_results(&first, &second, margins, regimes)
            };
            let missing = if regimes.is_empty() { missing(&first, &second) } else { Vec::new() };
            let mut doubtful = doubts(&first, regimes, "first result: ");
            doubtful.extend(doubts(&second, regimes, "second result: "));
            let gate = settings.gate.then(|| gate(&comparisons, &missing, &doubtful));
            let differences = missing.into_iter().chain(differences(&first, &second)).collect();
            let replication = settings.replication.then(|| replication(&comparisons));
            let (first, second) = (side(&first, None), side(&second, None));
            let document = assemble(first, second, false, comparisons, differences, gate);
            ComparisonDocument { replication, doubts: doubtful, ..document }
        }
        Sides::Arms(result, first, second) => {
            let result = opening::run(result)?;
            known_margins(&[&result])?;
            for name in [first, second] {
                known(&result, name)?;
            }
            let comparisons = compare_arms(&result, &[(first, second)], margins, regimes);
            let doubtful = doubts(&result, regimes, "");
            let gate = settings.gate.then(|| gate(&comparisons, &[], &doubtful));
            let (first, second) = (side(&result, Some(first)), side(&result, Some(second)));
            let document =
                assemble(first, second, is_paired(&result), comparisons, Vec::new(), gate);
            ComparisonDocument { doubts: doubtful, ..document }
        }
        Sides::Reference(result) => {
            let result = opening::run(result)?;
            known_margins(&[&result])?;
            let comparisons = compare_with_reference(&result, margins, regimes);
            let doubtful = doubts(&result, regimes, "");
            let gate = settings.gate.then(|| gate(&comparisons, &[], &doubtful));
            let (first, second) = (side(&result, None), side(&result, None));
            let document =
                assemble(first, second, is_paired(&result), comparisons, Vec::new(), gate);
            ComparisonDocument { doubts: doubtful, ..document }
        }
    })
}

/// Whether the processes were interleaved; for other tools the order is unknown.
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
    }
}

fn assemble(
    first: Side,
    second: Side,
    paired: bool,
    comparisons: Vec<Comparison>,
    differences: Vec<String>,
    gate: Option<Gate>,
) -> ComparisonDocument {
    ComparisonDocument {
        schema: ComparisonDocument::schema_id(),
        firstlight: build(),
        first,
        second,
        paired,
        replication: None,
        doubts: Vec::new(),
        comparisons,
        differences,
        gate,
    }
}
