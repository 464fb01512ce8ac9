//! The fastest arm for each number of calls, and one arm compared with each of the others.

use firstlight_analysis::cheapest::{cheapest as stretches, cost};
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

use super::Table;
use crate::words::format::{calls as counted, duration};
use crate::words::verdict::answer;

/// The fastest arm from one call on, with its changes; `None` for fewer than two arms.
pub fn cheapest(case: &CaseResult, cold: Regime) -> Option<Table> {
    let stretches = stretches(case, cold);
    if stretches.is_empty() {
        return None;
    }
    let mut table = Table::new(&["calls", "fastest", "95 % CI of the change", "possibly as fast"]);
    for stretch in &stretches {
        let from = counted(stretch.from);
        let calls = match stretch.to {
            Some(to) if (to - stretch.from).abs() < 0.5 => from,
            Some(to) => format!("{:.0}–{}", stretch.from, counted(to)),
            None => format!("from {from}"),
        };
        let change = match stretch.change {
            Some((Some(low), Some(high))) => format!("{low:.0}–{}", counted(high)),
            Some((None, Some(high))) => format!("up to {}", counted(high)),
            Some((Some(low), None)) => format!("{} or more", counted(low)),
            Some((None, None)) => "unknown".to_owned(),
            None => String::new(),
        };
        table.rows.push(vec![calls, stretch.arm.clone(), change, stretch.also.join(", ")]);
    }
    Some(table.without_empty_columns())
}

/// The total time of every arm for numbers of calls, the shortest one marked.
pub fn totals(case: &CaseResult, cold: Regime, calls: &[f64]) -> Option<Table> {
    let arms: Vec<_> =
        case.arms.iter().filter_map(|arm| Some((&arm.name, cost(arm, cold)?))).collect();
    if arms.is_empty() {
        return None;
    }
    let mut table = Table::new(&["arm"]);
    table.head.extend(calls.iter().map(|&calls| counted(calls)));
    let best = |calls: f64| {
        arms.iter().map(|(_, cost)| cost.total(calls)).min_by(f64::total_cmp).unwrap_or(f64::NAN)
    };
    for (name, cost) in &arms {
        let totals = calls.iter().map(|&calls| {
            let total = cost.total(calls);
            let text = duration(total);
            if total <= best(calls) { format!("**{text}**") } else { text }
        });
        table.rows.push([(*name).clone()].into_iter().chain(totals).collect());
    }
    Some(table)
}

/// One arm compared with each of the others: both starts, the time of a further call, and the
/// break-even; `None` if nothing of it was measured.
pub fn break_evens(case: &CaseResult, cold: Regime, arm: &str) -> Option<Table> {
    let costs = |name: &str| {
        let cost = cost(case.arms.iter().find(|arm| arm.name == name)?, cold)?;
        Some([duration(cost.first_ns), duration(cost.call_ns)])
    };
    let mut table = Table::new(&["arm", "first result", "a further call", "break-even"]);
    let mut row = |name: &str, text: String| {
        let [first, call] = costs(name).unwrap_or_default();
        table.rows.push(vec![name.to_owned(), first, call, text]);
    };
    row(arm, String::new());
    for even in case.break_evens.iter().filter(|even| even.cold == cold) {
        match (even.arm == arm, even.against == arm) {
            (true, _) => row(&even.against, answer(even)),
            (_, true) => row(&even.arm, answer(even)),
            (false, false) => {}
        }
    }
    (table.rows.len() > 1).then_some(table)
}
