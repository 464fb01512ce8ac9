//! The document `comparison` as text.

use firstlight_schema::comparison::{ComparisonDocument, Gate, Side};

use super::page::{BOLD, Page};
use crate::verdict::verdict;

const SHOWN_DIFFERENCES: usize = 12;

pub(super) fn comparison(page: &mut Page, document: &ComparisonDocument) {
    let paired = if document.paired {
        "measured in turn, compared pair by pair"
    } else {
        "not measured in turn: what changed between the two runs is part of the difference"
    };
    if document.first == document.second {
        page.sentence(&format!("{}, {paired}", side(&document.first)));
    } else {
        page.sentence(&format!(
            "{} against {}, {paired}",
            side(&document.second),
            side(&document.first)
        ));
    }
    let mut case = "";
    for one in &document.comparisons {
        if one.case != case {
            page.gap();
            page.line(&format!("{BOLD}{}{BOLD:#}", one.case));
            case = &one.case;
        }
        let mut one = one.clone();
        if one.arm == one.against {
            "before".clone_into(&mut one.against);
        }
        page.sentence(&format!("  {}: {}", one.regime, verdict(&one)));
    }
    differences(page, &document.differences);
    if let Some(gate) = document.gate {
        page.gap();
        page.sentence(&format!("{BOLD}gate{BOLD:#}: {}", outcome(gate)));
    }
}

fn side(of: &Side) -> String {
    let arm = of.arm.as_ref().map_or_else(String::new, |arm| format!(", {arm}"));
    format!("{} of {}{arm}", of.suite, of.created)
}

fn differences(page: &mut Page, differences: &[String]) {
    if differences.is_empty() {
        return;
    }
    page.gap();
    page.line("not the same on both sides:");
    for difference in differences.iter().take(SHOWN_DIFFERENCES) {
        page.sentence(&format!("  {difference}"));
    }
    if differences.len() > SHOWN_DIFFERENCES {
        page.line(&format!("  and {} more", differences.len() - SHOWN_DIFFERENCES));
    }
}

fn outcome(gate: Gate) -> &'static str {
    match gate {
        Gate::Passed => "passed, nothing is slower",
        Gate::Failed => "failed, something is slower than its margin allows",
        Gate::Inconclusive => {
            "inconclusive, nothing is known to be slower, and not everything is known not to be"
        }
    }
}
