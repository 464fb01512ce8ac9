//! The growth of times with a swept parameter, as text: constant, slope and exponent with their intervals.

use firstlight_analysis::stats::exponent;
use firstlight_schema::comparison::SweepLine;
use firstlight_schema::estimate::Estimate;

use crate::words::format::{self, duration};

/// The fitted line: `1.2 ms (1.1–1.3 ms) + 40 ns (38–42 ns) × width; exponent 0.31 (0.20–0.40)`.
pub(crate) fn fit(line: &SweepLine, parameter: &str) -> String {
    let (Some(constant), Some(slope)) = (&line.constant, &line.slope) else {
        return "too few values for a line".to_owned();
    };
    let doubt = match (line.linear, line.largest_residual) {
        (Some(false), Some(residual)) => {
            format!("; not a straight line: up to {:.0} % off", residual * 100.0)
        }
        _ => String::new(),
    };
    let power = power(line).map_or_else(String::new, |power| format!("; {power}"));
    let (constant, slope) = (with_interval(constant), with_interval(slope));
    format!("{constant} + {slope} × {parameter}{power}{doubt}")
}

/// `exponent 0.98 (0.91–1.05)`: 1 is proportional, 0 is constant.
pub(crate) fn power(line: &SweepLine) -> Option<String> {
    let points: Vec<(f64, f64)> =
        line.rows.iter().filter_map(|row| Some((row.number?, row.time?.point))).collect();
    let power = exponent(&points)?;
    let ends = power.interval.map_or_else(String::new, |ends| {
        let between = if ends.low < 0.0 { " to " } else { "–" };
        format!(" ({:.2}{between}{:.2})", ends.low, ends.high)
    });
    Some(format!("exponent {:.2}{ends}", power.point).replace('-', "−"))
}

fn with_interval(estimate: &Estimate) -> String {
    let signed = |ns: f64| if ns < 0.0 { format!("−{}", duration(-ns)) } else { duration(ns) };
    match estimate.interval {
        Some(interval) => {
            let ends = format::interval(interval.low, interval.high);
            format!("{} ({ends})", signed(estimate.point))
        }
        None => signed(estimate.point),
    }
}
