//! Warm processes one by one: calls, state, mean, and the differences between them.

use firstlight_schema::comparison::NodeVariance;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::sample::Sample;
use firstlight_schema::warm::WarmSummary;

use super::page::{BOLD, Page};
use crate::words::format::{bytes, duration, share};
use crate::words::table::Align;

pub(super) fn windows(page: &mut Page, case: &CaseResult) {
    for arm in &case.arms {
        for regime in arm.regimes.iter().filter(|regime| !regime.regime.is_cold()) {
            window(page, arm, regime);
        }
    }
}

fn window(page: &mut Page, arm: &ArmResult, regime: &RegimeResult) {
    page.gap();
    page.line(&format!("{BOLD}{}{BOLD:#}, {}", arm.name, regime.regime));
    if let Some(warm) = &regime.warm {
        page.facts(&facts(warm, regime.nodes.as_ref()));
    }
    page.gap();
    let head = ["process", "calls", "state", "steady from", "mean", "sd", "range"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(regime.samples.iter().map(row));
    let align = [
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ];
    page.columns(&align, &rows);
}

fn facts(warm: &WarmSummary, nodes: Option<&NodeVariance>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let calls = match (warm.fewest_calls, warm.most_calls) {
        (fewest, most) if fewest == most => format!("{most} per process"),
        (fewest, most) => format!("{fewest} to {most} per process"),
    };
    facts.push(("calls", calls));
    let process = warm.process_sd.map_or_else(
        || "between processes not known".to_owned(),
        |sd| format!("{} between processes", share(sd)),
    );
    let nodes =
        nodes.map_or_else(String::new, |nodes| format!(", {} between nodes", share(nodes.between)));
    facts.push(("deviation", format!("{} between calls, {process}{nodes}", share(warm.call_sd))));
    let time = format!("{:.1} calls", warm.autocorrelation_time);
    facts.push(("autocorrelation", time));
    if let Some(collector) = &warm.collector {
        let per_call = duration(collector.point);
        facts.push(("collector", format!("{per_call} per call in garbage collections")));
    }
    if let Some(best) = warm.best_calls {
        facts.push((
            "optimum",
            format!("{best} calls per process give the narrowest interval for the same time"),
        ));
    }
    if let Some(memory) = &warm.memory {
        let peak = bytes(memory.peak_rss_bytes);
        facts.push((
            "memory",
            format!("peak {peak} in the window, {} at its end", bytes(memory.end_rss_bytes)),
        ));
        for device in &memory.devices {
            let shown = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), bytes);
            facts.push((
                "",
                format!(
                    "{} {} in use at its end; high-water mark since the start {}",
                    device.device,
                    shown(device.in_use_bytes),
                    shown(device.peak_bytes)
                ),
            ));
        }
    }
    facts
}

fn row(sample: &Sample) -> Vec<String> {
    let number = sample.number.to_string();
    let Some(window) = &sample.window else {
        let none = String::new;
        return vec![number, none(), "no window".to_owned(), none(), none(), none(), none()];
    };
    let state = if sample.valid { window.state.to_string() } else { "invalid".to_owned() };
    let from = window.steady_from.map_or_else(String::new, |from| from.to_string());
    let select = |value: fn(&firstlight_schema::warm::SteadyPart) -> f64| {
        window.steady.as_ref().map_or_else(String::new, |steady| duration(value(steady)))
    };
    let range = window.steady.as_ref().map_or_else(String::new, |steady| {
        format!("{} to {}", duration(steady.min_ns), duration(steady.max_ns))
    });
    vec![
        number,
        window.calls.to_string(),
        state,
        from,
        select(|s| s.mean_ns),
        select(|s| s.sd_ns),
        range,
    ]
}
