//! The number of compilations, and the peak memory.

use firstlight_schema::message::Message;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use super::Table;
use crate::words::format::{bytes, count};

/// Programs compiled in a cold process, with their shapes, and in warm windows; `None` if there were none.
pub fn programs(case: &CaseResult) -> Option<Table> {
    let mut table = Table::new(&[
        "arm",
        "programs in a cold process",
        "most often compiled",
        "programs in a warm process",
        "compiled after its warm-up",
    ]);
    for arm in &case.arms {
        let cold = regime_result(arm, Regime::ColdClean).and_then(first);
        let warm = regime_result(arm, Regime::Warm).and_then(first);
        if cold.or(warm).is_none_or(|sample| sample.compiles.is_empty()) {
            continue;
        }
        let late = regime_result(arm, Regime::Warm).map(|result| {
            let late = result.samples.iter().flat_map(|sample| &sample.reasons);
            let found = late
                .filter(|reason| reason.finding.name() == "compiled-in-window")
                .map(|reason| reason.text.split(' ').next().unwrap_or("some").to_owned())
                .next();
            found.unwrap_or_else(|| "0".to_owned())
        });
        let programs = |sample: Option<&Sample>| {
            sample.map_or_else(String::new, |sample| sample.compiles.len().to_string())
        };
        table.rows.push(vec![
            arm.name.clone(),
            programs(cold),
            cold.map_or_else(String::new, shapes),
            programs(warm),
            late.unwrap_or_default(),
        ]);
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

fn regime_result(arm: &ArmResult, regime: Regime) -> Option<&RegimeResult> {
    arm.regimes.iter().find(|known| known.regime == regime)
}

fn first(regime_result: &RegimeResult) -> Option<&Sample> {
    regime_result
        .samples
        .iter()
        .find(|sample| sample.valid)
        .or_else(|| regime_result.samples.first())
}

/// The function that was compiled most often, and the number of its shapes.
fn shapes(sample: &Sample) -> String {
    let mut functions: Vec<(&str, usize)> = Vec::new();
    for program in &sample.compiles {
        match functions.iter_mut().find(|(name, _)| *name == program.function) {
            Some((_, times)) => *times += 1,
            None => functions.push((&program.function, 1)),
        }
    }
    functions.iter().max_by_key(|(_, times)| *times).map_or_else(String::new, |(name, times)| {
        let shapes = u64::try_from(signatures(sample, name)).unwrap_or(u64::MAX);
        format!("`{name}`, {times} times for {}", count(shapes, "shape"))
    })
}

/// The number of signatures for which a function was compiled: a program's own one is only shown in part.
pub fn signatures(sample: &Sample, function: &str) -> usize {
    let mut seen: Vec<&str> = Vec::new();
    for message in &sample.raw.messages {
        let Message::Phase(edge) = message else { continue };
        let Some(detail) = &edge.detail else { continue };
        let whole = detail.digest.as_deref().or(detail.signature.as_deref());
        let named = detail.function.as_deref().or(edge.label.as_deref());
        if let Some(whole) = whole.filter(|_| named == Some(function))
            && !seen.contains(&whole)
        {
            seen.push(whole);
        }
    }
    seen.len()
}

/// The peak memory of the process and of its devices, cold and in the window.
pub fn memory(case: &CaseResult) -> Option<Table> {
    let mut table = Table::new(&[
        "arm",
        "compiling, cold",
        "running, cold",
        "in the window",
        "device, compiling",
        "device, running",
        "device, window",
    ]);
    for arm in &case.arms {
        let cold = regime_result(arm, Regime::ColdClean).and_then(|one| one.summary.as_ref());
        let warm =
            regime_result(arm, Regime::Warm).and_then(|one| one.warm.as_ref()?.memory.as_ref());
        let shown = |value: Option<u64>| value.map_or_else(String::new, bytes);
        let device = cold.and_then(|summary| summary.devices.first());
        table.rows.push(vec![
            arm.name.clone(),
            shown(cold.and_then(|summary| summary.compile_peak_rss_bytes)),
            shown(cold.and_then(|summary| summary.run_peak_rss_bytes)),
            shown(warm.map(|memory| memory.peak_rss_bytes)),
            shown(device.and_then(|device| device.after_compiling_bytes)),
            shown(device.and_then(|device| device.after_running_bytes)),
            shown(warm.and_then(|memory| memory.devices.first()?.peak_bytes)),
        ]);
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}
