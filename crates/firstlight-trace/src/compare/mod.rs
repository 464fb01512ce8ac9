//! Two recordings of a step: medians over their steady steps with intervals, a waterfall from one wall time
//! to the other, and reasons why the two are not comparable.

mod bootstrap;
mod comparable;

use std::collections::BTreeMap;

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Bucket, Part, Step, StepsBy, TraceDocument};
use firstlight_schema::trace_comparison::{
    ComparedTrace, Fall, FrameRow, Row, TraceComparisonDocument,
};
use firstlight_schema::version::Build;

use bootstrap::{Drawn, FEWEST, difference_of_medians, middle};

const MOST_FRAMES: usize = 200;
const SEED: u64 = 1;

/// Compares the second with the first.
pub fn compare(
    first: &TraceDocument,
    second: &TraceDocument,
    build: Build,
) -> TraceComparisonDocument {
    let mut document = TraceComparisonDocument::new(build, side(first), side(second));
    document.not_comparable = comparable::reasons(first, second);
    let sides = Sides::choose(first, second);
    let aligned = (sides.drawn == Drawn::InPairs).then_some(sides.first.len());
    document.aligned_steps = aligned.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    document.wall = row(None, None, &sides, &|step| step.duration_ns);
    document.host_outside = row(None, None, &sides, &|step| step.host_outside_ns);
    for bucket in Bucket::ALL {
        let own = row(Some(bucket), None, &sides, &|step| step.bucket(bucket));
        let parts: Vec<Row> = Part::ALL
            .into_iter()
            .filter(|part| part.bucket() == bucket)
            .filter_map(|part| row(Some(bucket), Some(part), &sides, &|step| step.part(part)))
            .collect();
        document.buckets.extend(own);
        // A bucket with one part equals that part.
        if parts.len() > 1 {
            document.buckets.extend(parts);
        }
    }
    document.waterfall = waterfall(document.wall.as_ref(), &document.buckets);
    document.frames = frames(first, second);
    document.findings = findings(first, second);
    document
}

fn side(document: &TraceDocument) -> ComparedTrace {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    ComparedTrace {
        recording: document.recording.clone(),
        steps: count(document.steps.len()),
        steady_steps: count(steady(document).len()),
    }
}

fn steady(document: &TraceDocument) -> Vec<&Step> {
    document.steps.iter().filter(|step| step.is_steady()).collect()
}

/// The compared steps.
struct Sides<'a> {
    first: Vec<&'a Step>,
    second: Vec<&'a Step>,
    drawn: Drawn,
}

impl<'a> Sides<'a> {
    /// Steps that the program numbered are compared in pairs, if enough are steady on both sides; others are
    /// compared unpaired.
    fn choose(first: &'a TraceDocument, second: &'a TraceDocument) -> Self {
        let numbered = |document: &TraceDocument| document.steps_by == StepsBy::Annotation;
        let (all, others) = (steady(first), steady(second));
        if numbered(first) && numbered(second) {
            let by_number: BTreeMap<i64, &Step> =
                others.iter().map(|step| (step.number, *step)).collect();
            let pairs = all.iter().filter_map(|step| Some((*step, *by_number.get(&step.number)?)));
            let (a, b): (Vec<&Step>, Vec<&Step>) = pairs.unzip();
            if a.len() >= FEWEST {
                return Self { first: a, second: b, drawn: Drawn::InPairs };
            }
        }
        Self { first: all, second: others, drawn: Drawn::Apart }
    }
}

/// `None` if neither side has any time in it.
fn row(
    bucket: Option<Bucket>,
    part: Option<Part>,
    sides: &Sides<'_>,
    time: &dyn Fn(&Step) -> Nanos,
) -> Option<Row> {
    let values = |side: &[&Step]| side.iter().map(|step| time(step).as_f64()).collect::<Vec<f64>>();
    let (a, b) = (values(&sides.first), values(&sides.second));
    if a.iter().chain(&b).all(|value| *value <= 0.0) {
        return None;
    }
    let difference = difference_of_medians(&a, &b, sides.drawn, SEED)?;
    Some(Row { bucket, part, first_ns: middle(&a)?, second_ns: middle(&b)?, difference })
}

/// The buckets' differences, followed by the remainder of the wall time.
fn waterfall(wall: Option<&Row>, buckets: &[Row]) -> Vec<Fall> {
    let Some(wall) = wall else { return Vec::new() };
    let mut at = wall.first_ns;
    let mut falls = Vec::new();
    for row in buckets.iter().filter(|row| row.part.is_none()) {
        let by_ns = row.second_ns - row.first_ns;
        falls.push(Fall { bucket: row.bucket, from_ns: at, by_ns });
        at += by_ns;
    }
    let rest = wall.second_ns - at;
    if rest.abs() >= 1.0 {
        falls.push(Fall { bucket: None, from_ns: at, by_ns: rest });
    }
    falls
}

fn frames(first: &TraceDocument, second: &TraceDocument) -> Vec<FrameRow> {
    let mut rows: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for frame in &first.frames {
        rows.entry(&frame.name).or_default().0 = frame.inclusive_ns;
    }
    for frame in &second.frames {
        rows.entry(&frame.name).or_default().1 = frame.inclusive_ns;
    }
    let mut rows: Vec<FrameRow> = rows
        .into_iter()
        .map(|(name, (first_ns, second_ns))| FrameRow {
            name: name.to_owned(),
            first_ns,
            second_ns,
        })
        .collect();
    let size = |row: &FrameRow| (row.second_ns - row.first_ns).abs();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows.truncate(MOST_FRAMES);
    rows
}

fn findings(first: &TraceDocument, second: &TraceDocument) -> Vec<Reason> {
    let traced = [first, second].into_iter().filter(|side| side.recording.python_traced).count();
    let text = match traced {
        0 => return Vec::new(),
        1 => {
            "one side was recorded with Python frames and the other without: their difference is \
              mostly the recorder's own"
        }
        _ => {
            "both sides were recorded with Python frames: a difference of host time is larger than \
              it is without them; record again without before an overhead is published"
        }
    };
    vec![Reason::new(Finding::TracerInflated, text)]
}
