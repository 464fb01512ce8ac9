//! The busy times of several devices in a step: those that finish late delay the others.

use std::collections::BTreeMap;

use firstlight_schema::trace::DeviceTime;

use super::Attribution;
use super::book::nanos;
use crate::intervals::{Set, Span};
use crate::model::{Detail, Line, Place, Trace};
use crate::names::Category;

/// Lines of a device that repeat its steps.
const STEPS: &str = "Steps";

/// A device: a processor by its number, any other by the name of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Device<'a> {
    Processor(u32),
    Group(&'a str),
}

/// The devices of each step that begins in a stretch; a piece has all events that start in its steps.
/// Nothing where there is one device only.
pub(crate) fn device_times(piece: &Trace, found: &Attribution, span: Span) -> Vec<Vec<DeviceTime>> {
    let from = found.steps.partition_point(|mark| mark.span.0 < span.0);
    let to = found.steps.partition_point(|mark| mark.span.0 < span.1);
    let steps = &found.steps[from..to];
    if !several(piece) {
        return Vec::new();
    }
    let mut busy: Vec<BTreeMap<Device<'_>, Vec<Span>>> = vec![BTreeMap::new(); steps.len()];
    for line in piece.lines.iter().filter(|line| line.name != STEPS) {
        for index in 0..line.events.len() {
            let Some(device) = device(piece, line, index) else { continue };
            let start = line.events.start[index];
            let step = steps.partition_point(|mark| mark.span.0 <= start);
            let Some(step) = step.checked_sub(1) else { continue };
            let end = line.events.end(index).min(steps[step].span.1);
            if start < end {
                busy[step].entry(device).or_default().push((start, end));
            }
        }
    }
    busy.into_iter().zip(steps).map(|(devices, mark)| times(devices, mark.span.0)).collect()
}

/// Whether more than one device may be at work.
fn several(piece: &Trace) -> bool {
    let mut devices = piece.lines.iter().filter(|line| line.place == Place::Device);
    let first = devices.next();
    let processors = |detail: &Detail| matches!(detail, Detail::Program { run: Some(run), .. } if run.device() > 0);
    devices.any(|line| first.is_some_and(|first| first.group != line.group))
        || piece.details.iter().any(processors)
}

/// The device on which an event runs, if it is an execution.
fn device<'a>(piece: &Trace, line: &'a Line, index: usize) -> Option<Device<'a>> {
    if line.place == Place::Device {
        let category = piece.names.category(line.events.name[index]);
        let runs = matches!(category, Category::None | Category::Kernel);
        return runs.then_some(Device::Group(&line.group));
    }
    match *piece.detail(line, index) {
        Detail::Program { module: Some(_), run: Some(run), .. } => {
            Some(Device::Processor(run.device()))
        }
        _ => None,
    }
}

fn times(devices: BTreeMap<Device<'_>, Vec<Span>>, from: i64) -> Vec<DeviceTime> {
    let time = |(device, spans): (Device<'_>, Vec<Span>)| {
        let set = Set::union(spans);
        let (first, last) = (set.spans().first()?.0, set.spans().last()?.1);
        Some(DeviceTime {
            device: match device {
                Device::Processor(number) => format!("cpu:{number}"),
                Device::Group(name) => name.to_owned(),
            },
            busy_ns: nanos(set.total()),
            start_ns: nanos(first - from),
            end_ns: nanos(last - from),
        })
    };
    devices.into_iter().filter_map(time).collect()
}
