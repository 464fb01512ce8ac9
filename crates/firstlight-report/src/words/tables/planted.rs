//! A planted mistake: the value it would have published, the right one, and the factor between them.

use firstlight_schema::comparison::Mistaken;
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::CaseResult;

use super::{Table, factor, signed};
use crate::words::format::duration;

/// `None` for cases without a planted mistake.
pub fn planted(case: &CaseResult) -> Option<Table> {
    let one = case.planted.as_ref()?;
    let mut table = Table::new(&[
        "arm",
        "time, wrong",
        "time, right",
        "factor",
        "overhead, wrong",
        "overhead, right",
        "factor of the overhead",
        "speed-up, wrong",
        "speed-up, right",
        "factor of the speed-up",
        "rejected for",
        "processes",
    ]);
    let shown = |one: Option<Estimate>, how: fn(&Estimate) -> String| {
        one.as_ref().map_or_else(String::new, how)
    };
    for row in &one.rows {
        let overhead = row.overhead.unwrap_or_default();
        let speed_up = row.speed_up.unwrap_or_default();
        let plain = |one: &Estimate| duration(one.point);
        let Mistaken { wrong, right, factor: apart } = row.time;
        let refused = match row.findings.as_slice() {
            [] => "valid: the mistake has no effect".to_owned(),
            names if wrong.is_none() => format!("not measured: {}", names.join(", ")),
            names => names.join(", "),
        };
        table.rows.push(vec![
            row.arm.clone(),
            shown(wrong, plain),
            shown(right, plain),
            shown(apart, factor),
            shown(overhead.wrong, signed),
            shown(overhead.right, signed),
            shown(overhead.factor, factor),
            shown(speed_up.wrong, factor),
            shown(speed_up.right, factor),
            shown(speed_up.factor, factor),
            refused,
            format!("{} wrong, {} right", processes(wrong), processes(right)),
        ]);
    }
    Some(table.without_empty_columns())
}

fn processes(estimate: Option<Estimate>) -> u32 {
    estimate.map_or(0, |estimate| estimate.n)
}
