//! A recording in one sentence, and short distinct names for two recordings.

use std::path::Path;

use firstlight_schema::trace::{
    Bucket, CauseKind, Change, Compilation, LeftOut, Step, TraceDocument, Turn,
};
use firstlight_schema::trace_comparison::TraceComparisonDocument;

use super::format::{count, duration, share};

/// Longer guards are truncated, because they can be as long as the guarded code.
const LONGEST_GUARD: usize = 160;

/// Common endings of recordings' names, which do not distinguish them.
const ENDINGS: [&str; 8] = [
    ".xplane.pb.gz",
    ".xplane.pb",
    ".pt.trace.json.gz",
    ".pt.trace.json",
    ".trace.json.gz",
    ".trace.json",
    ".json.gz",
    ".json",
];

/// The result of a recording, and the step that shows it.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The index of the text's step.
    pub(crate) step: Option<usize>,
}

/// The longest recompilation, otherwise the longest compilation, otherwise a steady step.
pub(crate) fn answer(document: &TraceDocument) -> Answer {
    let longest = |turn: Turn| {
        let of_turn = document.compilations.iter().filter(move |one| one.turn == turn);
        let in_step = of_turn.filter(|one| one.step.is_some());
        in_step.max_by_key(|one| one.duration_ns)
    };
    let compiled = longest(Turn::Again).or_else(|| longest(Turn::First));
    let compiled = compiled.or_else(|| longest(Turn::Unknown));
    if let Some(one) = compiled
        && let Some(place) = document.steps.iter().position(|step| Some(step.number) == one.step)
    {
        let step = &document.steps[place];
        let took = duration(step.duration_ns.as_f64());
        let text = format!("Step {} took {took}: {}", step.number, why(one));
        return Answer { text, step: Some(place) };
    }
    Answer { text: steady(document), step: None }
}

fn why(one: &Compilation) -> String {
    let function = &one.function;
    match one.turn {
        Turn::First => format!("`{function}` was compiled for the first time"),
        Turn::Unknown => format!("`{function}` was compiled"),
        Turn::Again => match because(one) {
            Some(cause) => format!("`{function}` recompiled because {cause}"),
            None => format!("`{function}` recompiled, and the recording does not show why"),
        },
    }
}

/// The cause as a clause; `None` if the recording does not show it.
fn because(one: &Compilation) -> Option<String> {
    let cause = &one.cause;
    let changed = |what: &str| {
        let first = cause.changes.first()?;
        let more = match cause.changes.len() - 1 {
            0 => String::new(),
            1 => " (and 1 other change)".to_owned(),
            n => format!(" (and {n} other changes)"),
        };
        Some(format!(
            "{what}{} changed from {} to {}{more}",
            named(first),
            first.before,
            first.after
        ))
    };
    match cause.kind {
        CauseKind::Shape | CauseKind::Type | CauseKind::Rank => changed(""),
        CauseKind::StaticArgument => changed("static argument "),
        CauseKind::Setting => changed("the setting "),
        CauseKind::WeakType => {
            let name = cause.changes.first().map_or_else(|| "an argument".to_owned(), named);
            Some(format!("the type of {name} became weak or ceased to be"))
        }
        CauseKind::Guard => Some(format!("a guard failed: {}", shortened(&cause.text))),
        CauseKind::NewFunction => Some("it is a new function object".to_owned()),
        CauseKind::ClearedCache => Some("the cache of compiled functions was cleared".to_owned()),
        CauseKind::FirstUse
        | CauseKind::ArgumentCount
        | CauseKind::SameSignature
        | CauseKind::Unknown => None,
    }
}

fn named(change: &Change) -> String {
    let number = || format!("argument {}", change.parameter);
    change.name.as_ref().map_or_else(number, |name| format!("`{name}`"))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST_GUARD {
        return text.to_owned();
    }
    text.chars().take(LONGEST_GUARD).chain(['…']).collect()
}

fn steady(document: &TraceDocument) -> String {
    let n = document.steps.iter().filter(|step| step.is_steady()).count();
    let Some(median) = median_step(document) else {
        let whole: f64 = document.steps.iter().map(|step| step.duration_ns.as_f64()).sum();
        return format!("{} took {}", count(document.steps.len() as u64, "step"), duration(whole));
    };
    let mut buckets: Vec<(Bucket, f64)> = document
        .steady
        .iter()
        .filter(|row| row.part.is_none())
        .map(|row| (row.bucket, row.share))
        .collect();
    buckets.sort_by(|a, b| b.1.total_cmp(&a.1));
    let largest: Vec<String> =
        buckets.iter().take(2).map(|(bucket, part)| format!("{} {bucket}", share(*part))).collect();
    let took = duration(median.duration_ns.as_f64());
    if n == 1 {
        return format!("The step took {took}: {}", largest.join(", "));
    }
    format!("A steady step takes {took}, the median of {n}: {}", largest.join(", "))
}

/// The steady step of median length, as the representative of the others.
pub(crate) fn median_step(document: &TraceDocument) -> Option<&Step> {
    let mut steady: Vec<&Step> = document.steps.iter().filter(|step| step.is_steady()).collect();
    steady.sort_by_key(|step| step.duration_ns);
    steady.get(steady.len().saturating_sub(1) / 2).copied()
}

/// The reasons why medians exclude steps, in one line for each kind.
pub(crate) fn left_out(document: &TraceDocument) -> Vec<String> {
    let line = |wanted: LeftOut, why: &str| {
        let numbers: Vec<String> = document
            .steps
            .iter()
            .filter(|step| step.left_out == Some(wanted))
            .map(|step| step.number.to_string())
            .collect();
        match numbers.as_slice() {
            [] => None,
            [only] => Some(format!("step {only} is not in the medians: {why} in it")),
            _ => {
                Some(format!("steps {} are not in the medians: {why} in them", numbers.join(", ")))
            }
        }
    };
    let empty = line(LeftOut::Empty, "nothing was called or ran");
    let unended = document.steps.iter().find(|step| step.left_out == Some(LeftOut::Unended));
    let unended = unended.map(|step| {
        format!("step {} is not in the medians: no later step shows where it ends", step.number)
    });
    empty.into_iter().chain(unended).collect()
}

/// The shortest distinct names of both sides' files.
pub(crate) fn sides(document: &TraceComparisonDocument) -> (String, String) {
    let (first, second) = (&document.first.recording.file, &document.second.recording.file);
    let parts = |file: &str| -> Vec<String> {
        let parts = Path::new(file).components();
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (one, other) = (parts(first), parts(second));
    let tail = |parts: &[String], n: usize| {
        let path = parts[parts.len().saturating_sub(n)..].join("/");
        let stem = ENDINGS.iter().find_map(|ending| path.strip_suffix(ending));
        stem.filter(|stem| !stem.is_empty()).map_or_else(|| path.clone(), str::to_owned)
    };
    let enough = (1..=one.len().max(other.len())).find(|n| tail(&one, *n) != tail(&other, *n));
    match enough {
        Some(n) => (tail(&one, n), tail(&other, n)),
        None => (format!("{first} (first)"), format!("{second} (second)")),
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::trace::{
        Cause, CauseKind, Change, Compilation, Served, TraceDocument, Turn,
    };
    use serde_json::{Value, json};

    use super::{answer, left_out, sides};

    /// A document with steps of these durations in milliseconds.
    fn document(steps: &[u64]) -> TraceDocument {
        let step = |(number, ms): (usize, &u64)| {
            let ns = ms * 1_000_000;
            json!({
                "name": "train", "number": number, "start-ns": 0, "duration-ns": ns, "gap-ns": 0,
                "compiled": false, "parts": [{"part": "compiled", "ns": ns}], "host-outside-ns": 0,
                "overlapped-host-ns": 0, "device-busy-ns": ns, "region-ns": 0, "calls": 1,
                "timeline": []
            })
        };
        let steps: Vec<Value> = steps.iter().enumerate().map(step).collect();
        serde_json::from_value(json!({
            "schema": {"name": "trace", "version": {"major": 1, "minor": 1}},
            "firstlight": {"version": "0", "commit": null},
            "recording": {
                "file": "a", "format": "xplane", "bytes": 0, "events": 0, "lines": 0, "framework": "jax",
                "versions": [], "devices": [], "hosts": [], "tracer": null, "python-traced": false,
                "span-ns": 0, "rules": ""
            },
            "notices": [], "steps-by": "annotation", "thread": "", "steps": steps, "steady": [
                {"bucket": "execute", "part": null, "share": 1.0, "median": {
                    "point": 1.0, "interval": null, "n": 3, "method": "median-bootstrap"}}
            ],
            "host-outside": null, "frames": [], "wrappers": [], "compilations": [], "events": [],
            "findings": [], "inflation": null
        }))
        .expect("a document")
    }

    fn compilation(step: i64, turn: Turn, cause: &Cause) -> Compilation {
        let compilation = json!({
            "function": "step", "step": step, "start-ns": 0, "duration-ns": 1, "parts": [],
            "turn": turn, "served": Served::Compiler, "program": null, "previous": null,
            "cause": cause
        });
        serde_json::from_value(compilation).expect("a compilation")
    }

    fn cause(kind: CauseKind, name: Option<&str>, before: &str, after: &str) -> Cause {
        let change = Change {
            parameter: 8,
            name: name.map(str::to_owned),
            before: before.to_owned(),
            after: after.to_owned(),
        };
        Cause { kind, text: "as the log says".to_owned(), changes: vec![change] }
    }

    #[test]
    fn the_answer_names_the_step_the_function_and_the_cause() {
        let mut one = document(&[1, 2_520, 1]);
        let shape = cause(CauseKind::Shape, Some("x"), "f32[512,1024]", "f32[520,1024]");
        one.compilations = vec![
            compilation(0, Turn::First, &cause(CauseKind::FirstUse, None, "", "")),
            compilation(1, Turn::Again, &shape),
        ];
        let found = answer(&one);
        assert_eq!(
            (found.text.as_str(), found.step),
            (
                "Step 1 took 2.52 s: `step` recompiled because `x` changed from f32[512,1024] to \
                 f32[520,1024]",
                Some(1)
            )
        );
        let clauses = [
            (CauseKind::Type, None, "because argument 8 changed from a to b"),
            (
                CauseKind::StaticArgument,
                Some("n"),
                "because static argument `n` changed from a to b",
            ),
            (CauseKind::Setting, Some("jax_x"), "because the setting `jax_x` changed from a to b"),
            (CauseKind::Guard, None, "because a guard failed: as the log says"),
            (CauseKind::ArgumentCount, None, ", and the recording does not show why"),
            (CauseKind::SameSignature, None, ", and the recording does not show why"),
        ];
        for (kind, name, clause) in clauses {
            one.compilations = vec![compilation(1, Turn::Again, &cause(kind, name, "a", "b"))];
            let text = answer(&one).text;
            assert!(text.ends_with(clause), "{text}");
        }
        one.compilations.clear();
        let found = answer(&one);
        assert_eq!(
            (found.text.as_str(), found.step),
            ("A steady step takes 1.00 ms, the median of 3: 100.0 % execute", None)
        );
    }

    #[test]
    fn steps_that_are_left_out_are_named_in_one_line() {
        let mut step = document(&[1, 1, 1, 1]);
        for (place, why) in [(0, "empty"), (2, "empty"), (3, "unended")] {
            step.steps[place].left_out = serde_json::from_value(json!(why)).expect("a reason");
        }
        assert_eq!(
            left_out(&step),
            [
                "steps 0, 2 are not in the medians: nothing was called or ran in them",
                "step 3 is not in the medians: no later step shows where it ends"
            ]
        );
    }

    #[test]
    fn two_recordings_are_distinguished_by_their_files() {
        let mut one = serde_json::to_value(document(&[1])).expect("a document");
        let mut side = |file: &str| {
            one["recording"]["file"] = json!(file);
            json!({"recording": one["recording"], "steps": 1, "steady-steps": 1})
        };
        let mut compared = |first: &str, second: &str| {
            let document = json!({
                "schema": {"name": "trace-comparison", "version": {"major": 1, "minor": 0}},
                "firstlight": {"version": "0", "commit": null},
                "first": side(first), "second": side(second), "not-comparable": [], "wall": null,
                "host-outside": null, "buckets": [], "waterfall": [], "frames": [], "findings": []
            });
            sides(&serde_json::from_value(document).expect("a comparison"))
        };
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(compared("runs/a.json", "runs/b.json"), pair("a", "b"));
        assert_eq!(compared("a/host/t.json", "a/python/t.json"), pair("host/t", "python/t"));
        assert_eq!(
            compared("a.json", "a.xplane.pb"),
            pair("a.json (first)", "a.xplane.pb (second)")
        );
        assert_eq!(compared("t.json", "t.json"), pair("t.json (first)", "t.json (second)"));
    }
}
