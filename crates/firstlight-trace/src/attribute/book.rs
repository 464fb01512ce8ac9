//! Attribution of a step: layer by layer, each takes its share of the remaining time, and the host gets the
//! rest, so the parts sum to the step by construction.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Bucket, LeftOut, Part, PartTime, Step, Stretch};

use super::{Attribution, Layers, Mark};
use crate::intervals::{Set, Span};

/// Intervals shorter than this share of their step are invisible in a drawing.
const VISIBLE: i64 = 1_500;

/// An attributed step, and the host's part of it outside the compiled program.
pub(crate) struct Booked {
    pub(crate) step: Step,
    pub(crate) host: Set,
}

/// Attributes the steps of one piece after another.
#[derive(Default)]
pub(crate) struct Booker {
    /// The end of the previous step.
    before: Option<i64>,
}

impl Booker {
    /// The steps that begin in an interval, and also end in it.
    pub(crate) fn book(&mut self, found: &Attribution, layers: &Layers, span: Span) -> Vec<Booked> {
        let from = found.steps.partition_point(|mark| mark.span.0 < span.0);
        let to = found.steps.partition_point(|mark| mark.span.0 < span.1);
        let book = |mark: &Mark| {
            let mut booked = one(layers, mark, self.before);
            self.before = Some(mark.span.1);
            if !works(&booked.step) {
                booked.step.left_out.get_or_insert(LeftOut::Empty);
            }
            booked
        };
        found.steps[from..to].iter().map(book).collect()
    }
}

fn one(found: &Layers, mark: &Mark, before: Option<i64>) -> Booked {
    let mut left = Set::one(mark.span);
    let mut taken: Vec<(Part, Set)> = Vec::new();
    for (part, layer) in &found.parts {
        let own = left.and(&layer.within(mark.span));
        if !own.is_empty() {
            left = left.without(&own);
            taken.push((*part, own));
        }
    }
    let calls = found.calls.within(mark.span);
    taken.extend(divide(&left, &calls));
    let parts: Vec<PartTime> = Part::ALL
        .into_iter()
        .map(|part| {
            let own = taken.iter().filter(|(own, _)| *own == part);
            PartTime { part, ns: nanos(own.map(|(_, set)| set.total()).sum()) }
        })
        .filter(|row| row.ns > Nanos::ZERO)
        .collect();
    let compiled = parts.iter().any(|row| row.part.bucket() == Bucket::Compile);
    let step = Step {
        name: mark.name.clone(),
        number: mark.number,
        start_ns: nanos(mark.span.0),
        duration_ns: nanos(mark.span.1 - mark.span.0),
        gap_ns: nanos(before.map_or(0, |before| mark.span.0 - before)),
        compiled,
        peak_bytes: None,
        devices: Vec::new(),
        left_out: (!mark.ended).then_some(LeftOut::Unended),
        host_outside_ns: Step::outside(&parts),
        parts,
        overlapped_host_ns: nanos(overlapped(found, mark.span)),
        device_busy_ns: nanos(found.busy(mark.span).total()),
        region_ns: nanos(found.region.within(mark.span).total()),
        calls: u32::try_from(calls.spans().len()).unwrap_or(u32::MAX),
        timeline: timeline(&taken, mark.span),
    };
    Booked { step, host: left }
}

/// If no step of a recording works, empty steps are not excluded.
pub(crate) fn keep_empty_alone(steps: &mut [Step]) {
    if !steps.iter().any(works) {
        for step in steps {
            step.left_out = step.left_out.filter(|why| *why != LeftOut::Empty);
        }
    }
}

/// Whether anything was called or ran in a step.
fn works(step: &Step) -> bool {
    let host = |row: &PartTime| row.part.bucket() == Bucket::Host;
    step.calls > 0 || !step.parts.iter().all(host)
}

/// The host's time before, between and after the step's calls.
fn divide(host: &Set, calls: &Set) -> [(Part, Set); 3] {
    let (Some(first), Some(last)) = (calls.spans().first(), calls.spans().last()) else {
        return [
            (Part::Before, Set::default()),
            (Part::Between, host.clone()),
            (Part::After, Set::default()),
        ];
    };
    [
        (Part::Before, host.within((i64::MIN, first.0))),
        (Part::Between, host.within((first.0, last.1))),
        (Part::After, host.within((last.1, i64::MAX))),
    ]
}

/// Host work while a program ran or data moved.
fn overlapped(found: &Layers, span: Span) -> i64 {
    let mut host = Set::one(span);
    let mut running = Set::default();
    for (part, layer) in &found.parts {
        let own = layer.within(span);
        match part.bucket() {
            Bucket::Execute | Bucket::Transfer => running = running.or(&own),
            Bucket::Compile | Bucket::Callback | Bucket::Dispatch | Bucket::Wait | Bucket::Host => {
                host = host.without(&own);
            }
        }
    }
    host.and(&running).total()
}

fn timeline(taken: &[(Part, Set)], span: Span) -> Vec<Stretch> {
    let shortest = ((span.1 - span.0) / VISIBLE).max(1);
    let mut stretches: Vec<(Span, Part)> = taken
        .iter()
        .flat_map(|(part, set)| set.spans().iter().map(|span| (*span, *part)))
        .collect();
    stretches.sort_unstable();
    let mut drawn: Vec<(Span, Part)> = Vec::new();
    for (own, part) in stretches {
        match drawn.last_mut() {
            // Across an interval that is not drawn, equal neighbours are joined.
            Some((last, known)) if *known == part && own.0 - last.1 < shortest => last.1 = own.1,
            _ if own.1 - own.0 >= shortest => drawn.push((own, part)),
            _ => {}
        }
    }
    let stretch = |(own, part): (Span, Part)| Stretch {
        part,
        start_ns: nanos(own.0 - span.0),
        duration_ns: nanos(own.1 - own.0),
    };
    drawn.into_iter().map(stretch).collect()
}

pub(crate) fn nanos(ns: i64) -> Nanos {
    Nanos(u64::try_from(ns).unwrap_or(0))
}
