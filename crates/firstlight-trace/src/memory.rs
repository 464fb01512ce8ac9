//! Memory over time, where a recording has it: what each allocator had handed out, its peak, and the peak
//! of each step.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{MemoryPoint, MemoryRow, Step};

use crate::model::{MemorySample, Trace};
use crate::names::NameId;

/// Points of a timeline that are kept: the highest of each stretch.
const MOST_POINTS: u64 = 200;

/// Each allocator by its peak, the highest first; the peaks of the first one go into the steps.
pub(crate) fn memory(trace: &Trace, steps: &mut [Step]) -> Vec<MemoryRow> {
    let mut allocators: Vec<NameId> = trace.memory.iter().map(|sample| sample.allocator).collect();
    allocators.sort_unstable();
    allocators.dedup();
    let of = |allocator: &NameId| -> Vec<MemorySample> {
        trace.memory.iter().filter(|sample| sample.allocator == *allocator).copied().collect()
    };
    let mut all: Vec<(NameId, Vec<MemorySample>)> =
        allocators.iter().map(|allocator| (*allocator, of(allocator))).collect();
    let peak = |samples: &[MemorySample]| samples.iter().map(|sample| sample.bytes).max();
    all.sort_by_key(|(name, samples)| (std::cmp::Reverse(peak(samples)), *name));
    if let Some((_, samples)) = all.first() {
        peaks(samples, steps);
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

/// The peak of each step, with what was in use when it began.
fn peaks(samples: &[MemorySample], steps: &mut [Step]) {
    for step in steps {
        let (from, to) = (step.start_ns, step.start_ns + step.duration_ns);
        let first = samples.partition_point(|sample| nanos(sample.at) < from);
        let last = samples.partition_point(|sample| nanos(sample.at) < to);
        let before = first.checked_sub(1).map(|index| samples[index].bytes);
        let inside = samples[first..last].iter().map(|sample| sample.bytes);
        step.peak_bytes = inside.chain(before).max();
    }
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
