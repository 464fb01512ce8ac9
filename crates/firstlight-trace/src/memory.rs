//! Memory over time, if recorded: the memory handed out by each allocator, its peak, and the peak of each
//! step.

use std::collections::BTreeMap;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{MemoryPoint, MemoryRow, Step};

use crate::model::{MemorySample, Trace};
use crate::names::NameId;

/// The largest number of points of a timeline: the highest of each interval.
const MOST_POINTS: u64 = 200;

/// All allocators sorted by peak, the highest first; the peaks of the first one are added to the steps.
pub(crate) fn memory(trace: &Trace, steps: &mut [Step]) -> Vec<MemoryRow> {
    let all = by_allocator(trace);
    if let Some((_, samples)) = all.first() {
        for step in steps.iter_mut() {
            let (from, to) = (step.start_ns, step.start_ns + step.duration_ns);
            let time = |at: Nanos| i64::try_from(at.0).unwrap_or(i64::MAX);
            step.peak_bytes = peak_within(samples, (time(from), time(to)));
        }
    }
    let row = |(name, samples): &(NameId, Vec<MemorySample>)| {
        let highest =
            samples.iter().max_by_key(|sample| (sample.bytes, std::cmp::Reverse(sample.at)))?;
        let at = nanos(highest.at);
        let inside = |step: &&Step| step.start_ns <= at && at < step.start_ns + step.duration_ns;
        Some(MemoryRow {
            allocator: trace.names.text(*name).to_owned(),
            peak_bytes: highest.bytes,
            peak_at_ns: at,
            peak_step: steps.iter().find(inside).map(|step| step.number),
            timeline: timeline(samples),
        })
    };
    all.iter().filter_map(row).collect()
}

/// The samples of the allocator with the highest peak, sorted by time.
pub(crate) fn samples_of_largest(trace: &Trace) -> Vec<MemorySample> {
    by_allocator(trace).into_iter().next().map(|(_, samples)| samples).unwrap_or_default()
}

/// The peak within an interval, including the memory in use at its start.
pub(crate) fn peak_within(samples: &[MemorySample], (from, to): (i64, i64)) -> Option<u64> {
    let first = samples.partition_point(|sample| sample.at < from);
    let last = samples.partition_point(|sample| sample.at < to).max(first);
    let before = first.checked_sub(1).map(|index| samples[index].bytes);
    samples[first..last].iter().map(|sample| sample.bytes).chain(before).max()
}

/// All allocators, the highest peak first.
fn by_allocator(trace: &Trace) -> Vec<(NameId, Vec<MemorySample>)> {
    let mut all: BTreeMap<NameId, Vec<MemorySample>> = BTreeMap::new();
    for sample in &trace.memory {
        all.entry(sample.allocator).or_default().push(*sample);
    }
    let peak = |samples: &[MemorySample]| samples.iter().map(|sample| sample.bytes).max();
    let mut all: Vec<(NameId, Vec<MemorySample>)> = all.into_iter().collect();
    all.sort_by_key(|(name, samples)| (std::cmp::Reverse(peak(samples)), *name));
    all
}

fn timeline(samples: &[MemorySample]) -> Vec<MemoryPoint> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    let width = (nanos(last.at).0 - nanos(first.at).0) / MOST_POINTS + 1;
    let mut points: Vec<(u64, MemoryPoint)> = Vec::new();
    for sample in samples {
        let at_ns = nanos(sample.at);
        let bin = (at_ns.0 - nanos(first.at).0) / width;
        let point = MemoryPoint { at_ns, bytes: sample.bytes };
        match points.last_mut() {
            Some((own, known)) if *own == bin => {
                if point.bytes > known.bytes {
                    *known = point;
                }
            }
            _ => points.push((bin, point)),
        }
    }
    points.into_iter().map(|(_, point)| point).collect()
}

fn nanos(ns: i64) -> Nanos {
    Nanos(u64::try_from(ns).unwrap_or(0))
}
