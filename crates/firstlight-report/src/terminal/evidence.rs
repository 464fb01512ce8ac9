//! Data besides the times: memory, caches, the machine, invalid samples, notices, the cost of the hooks.

use std::fmt::Write as _;

use firstlight_schema::cache::{Inventory, Layer, LayerEvidence};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::finding::Reason;
use firstlight_schema::sample::Sample;
use firstlight_schema::summary::{DevicePeak, HookPrice, Summary};

use super::page::{BOLD, Page};
use crate::words::format::{bytes, count, difference, duration, policy};

const SHOWN_INVALID: usize = 4;

pub(super) fn evidence(page: &mut Page, summary: &Summary) {
    page.gap();
    let mut facts = vec![("memory", memory(summary))];
    facts.extend(summary.devices.iter().map(|peak| ("", device(peak))));
    let relevant = summary.caches.iter().filter(|layer| says_something(layer));
    for (index, layer) in relevant.enumerate() {
        facts.push((if index == 0 { "caches" } else { "" }, cache(layer, summary.valid)));
    }
    if !summary.background.is_empty() {
        let phases: Vec<String> = summary
            .background
            .iter()
            .map(|row| format!("{} {}", row.phase, duration(row.mean_ns)))
            .collect();
        facts.push(("other threads", format!("{}; part of no sum", phases.join(", "))));
    }
    if let Some(cores) = summary.contention_cores {
        let percent = cores * 100.0;
        facts.push(("machine", format!("other processes used {percent:.0} % of one core")));
    }
    let samples = match summary.invalid {
        0 => format!("{} valid", summary.valid),
        invalid => format!("{} valid, {invalid} invalid and left out", summary.valid),
    };
    facts.push(("samples", samples));
    page.facts(&facts);
}

fn memory(summary: &Summary) -> String {
    let mut text = format!("peak {}", bytes(summary.peak_rss_bytes));
    for (what, peak) in
        [("compiling", summary.compile_peak_rss_bytes), ("running", summary.run_peak_rss_bytes)]
    {
        if let Some(peak) = peak {
            write!(text, ", {what} {}", bytes(peak)).expect("writing to a string");
        }
    }
    text
}

fn device(peak: &DevicePeak) -> String {
    let shown = |bytes_: Option<u64>| bytes_.map_or_else(|| "unknown".to_owned(), bytes);
    format!(
        "{} high-water mark {} after compiling, {} after running",
        peak.device,
        shown(peak.after_compiling_bytes),
        shown(peak.after_running_bytes),
    )
}

fn says_something(layer: &LayerEvidence) -> bool {
    let used = |inventory: Option<Inventory>| inventory.is_some_and(|files| files.entries > 0);
    layer.requests.unwrap_or(0) > 0 || used(layer.before) || used(layer.after)
}

fn cache(layer: &LayerEvidence, samples: u32) -> String {
    let mut text = format!("{} {}", layer.layer, policy(layer.policy));
    if let (Some(before), Some(after)) = (layer.before, layer.after) {
        let entries = count(before.entries, "file");
        write!(text, ": {entries} before, {} after ({})", after.entries, bytes(after.bytes))
            .expect("writing to a string");
    }
    if let (Some(requests), Some(hits)) = (layer.requests, layer.hits)
        && requests > 0
    {
        let what = match layer.layer {
            Layer::Bytecode => format!("; {requests} modules compiled from source"),
            _ => format!("; {hits} of {} served", count(requests, "request")),
        };
        write!(text, "{what} in {}", count(u64::from(samples), "sample"))
            .expect("writing to a string");
    }
    text
}

pub(super) fn invalid(page: &mut Page, samples: &[Sample]) {
    let invalid: Vec<&Sample> = samples.iter().filter(|sample| !sample.valid).collect();
    if invalid.is_empty() {
        return;
    }
    page.gap();
    for sample in invalid.iter().take(SHOWN_INVALID) {
        for reason in &sample.reasons {
            page.sentence(&format!("{BOLD}invalid{BOLD:#}: sample {}: {reason}", sample.number));
        }
    }
    if invalid.len() > SHOWN_INVALID {
        page.line(&format!("invalid: {} more samples", invalid.len() - SHOWN_INVALID));
    }
}

pub(super) fn notices(page: &mut Page, notices: &[Reason]) {
    if !notices.is_empty() {
        page.gap();
    }
    for notice in notices {
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", notice.finding, notice.text));
    }
}

pub(super) fn hooks(page: &mut Page, control: &HookPrice) {
    let (Some(wall), Some(cpu)) = (&control.price_wall, &control.price_cpu) else {
        return;
    };
    page.gap();
    page.sentence(&format!(
        "price of the hooks over {}: wall time {}, CPU time {}; without them the median is {}",
        count(u64::from(wall.n), "pair"),
        price(wall),
        price(cpu),
        control.wall.map_or_else(|| "unknown".to_owned(), |wall| duration(wall.point)),
    ));
}

fn price(estimate: &Estimate) -> String {
    let point = difference(estimate.point);
    match &estimate.interval {
        Some(interval) => {
            format!("{point} ({} to {})", difference(interval.low), difference(interval.high))
        }
        None => format!("{point} (too few pairs for an interval)"),
    }
}
