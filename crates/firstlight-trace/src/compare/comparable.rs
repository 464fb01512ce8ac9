//! Reasons why two recordings should not be compared.

use firstlight_schema::trace::{Recording, TraceDocument};

/// If one side has more than this many times as many steps, they are probably not the same.
const TIMES: usize = 2;

pub(super) fn reasons(first: &TraceDocument, second: &TraceDocument) -> Vec<String> {
    let (a, b) = (&first.recording, &second.recording);
    let mut reasons = Vec::new();
    let mut differ = |what: &str, one: String, other: String| {
        if one != other {
            reasons.push(format!("{what}: {one} against {other}"));
        }
    };
    differ("framework", a.framework.name().to_owned(), b.framework.name().to_owned());
    differ("format", a.format.name().to_owned(), b.format.name().to_owned());
    for name in names(a, b) {
        differ(name, version(a, name), version(b, name));
    }
    differ("device", devices(a), devices(b));
    differ("tracer levels", levels(a), levels(b));
    differ("Python frames", python(a), python(b));
    differ("steps", first.steps_by.name().to_owned(), second.steps_by.name().to_owned());
    let counts = (steady(first), steady(second));
    if counts.0 == 0 || counts.1 == 0 {
        reasons.push(format!("steady steps: {} against {}", counts.0, counts.1));
    } else if counts.0.max(counts.1) > TIMES * counts.0.min(counts.1) {
        reasons.push(format!("many more steps on one side: {} against {}", counts.0, counts.1));
    }
    reasons
}

fn steady(document: &TraceDocument) -> usize {
    document.steps.iter().filter(|step| step.is_steady()).count()
}

/// All versions on either side.
fn names<'a>(a: &'a Recording, b: &'a Recording) -> Vec<&'a str> {
    let mut names: Vec<&str> =
        a.versions.iter().chain(&b.versions).map(|version| version.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn version(recording: &Recording, name: &str) -> String {
    let known = recording.versions.iter().find(|version| version.name == name);
    known.map_or_else(|| "unknown".to_owned(), |version| version.version.clone())
}

fn devices(recording: &Recording) -> String {
    if recording.devices.is_empty() { "none".to_owned() } else { recording.devices.join(", ") }
}

fn levels(recording: &Recording) -> String {
    recording.tracer.map_or_else(
        || "unknown".to_owned(),
        |levels| {
            format!("host {}, device {}, Python {}", levels.host, levels.device, levels.python)
        },
    )
}

fn python(recording: &Recording) -> String {
    if recording.python_traced { "recorded" } else { "not recorded" }.to_owned()
}
