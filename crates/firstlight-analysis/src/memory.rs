//! Memory per phase, from a process's readings of itself.

use std::collections::BTreeMap;

use firstlight_schema::message::Message;
use firstlight_schema::phase::Phase;
use firstlight_schema::reading::RawSample;
use firstlight_schema::sample::PhaseMemory;

/// Each phase's largest own peak and its last end.
pub(crate) fn by_phase(raw: &RawSample) -> Vec<PhaseMemory> {
    let mut phases: BTreeMap<Phase, PhaseMemory> = BTreeMap::new();
    for message in &raw.messages {
        let Message::Memory(reading) = message else { continue };
        let known = phases.get(&reading.phase).map_or(0, |memory| memory.peak_rss_bytes);
        phases.insert(
            reading.phase,
            PhaseMemory {
                phase: reading.phase,
                peak_rss_bytes: reading.peak_rss_bytes.max(known),
                end_rss_bytes: reading.rss_bytes,
                devices: reading.devices.clone(),
            },
        );
    }
    phases.into_values().collect()
}

/// The maximum of the kernel's figure and the process's own: the process resets the former at the end of a
/// phase, so neither alone is the peak.
pub(crate) fn peak(raw: &RawSample, phases: &[PhaseMemory]) -> u64 {
    let peak = phases.iter().map(|memory| memory.peak_rss_bytes).max();
    peak.unwrap_or(0).max(raw.usage.max_rss_bytes)
}
