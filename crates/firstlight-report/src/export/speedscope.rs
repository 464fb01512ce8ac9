//! Flame graphs for [speedscope](https://www.speedscope.app/file-format-schema.json): for each arm and
//! regime the ledger and the imports of its typical process, as frames that open and close.

use std::collections::HashMap;

use firstlight_analysis::frames::{Frame, frames, import_frames};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::run::RunDocument;
use serde_json::{Value, json};

use crate::model::typical;

pub fn speedscope(document: &RunDocument) -> String {
    let mut names = Names::default();
    let mut profiles = Vec::new();
    for case in &document.cases {
        for arm in &case.arms {
            for regime in &arm.regimes {
                let Some(sample) = typical(regime) else { continue };
                let title = format!("{}, {}, {}", case.name, arm.name, regime.regime);
                let ledger = frames(&sample.raw);
                profiles.push(names.profile(&format!("{title}: ledger"), &ledger, sample.wall_ns));
                let imports = import_frames(&sample.raw);
                if !imports.is_empty() {
                    let title = format!("{title}: imports");
                    profiles.push(names.profile(&title, &imports, sample.wall_ns));
                }
            }
        }
    }
    let whole = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": document.suite,
        "exporter": format!("firstlight {}", document.firstlight.version),
        "shared": { "frames": names.shared },
        "profiles": profiles,
    });
    serde_json::to_string(&whole).expect("values are JSON") + "\n"
}

/// Frames are listed once and referred to by index.
#[derive(Default)]
struct Names {
    known: HashMap<String, usize>,
    shared: Vec<Value>,
}

impl Names {
    fn place(&mut self, frame: &Frame) -> usize {
        let name = match &frame.label {
            Some(label) => format!("{}: {label}", frame.phase),
            None => frame.phase.to_string(),
        };
        *self.known.entry(name).or_insert_with_key(|name| {
            self.shared.push(json!({ "name": name }));
            self.shared.len() - 1
        })
    }

    fn profile(&mut self, title: &str, frames: &[Frame], end: Nanos) -> Value {
        let mut events = Vec::new();
        let mut open: Vec<(usize, Nanos)> = Vec::new();
        for frame in frames {
            close(&mut open, frame.depth, &mut events);
            let place = self.place(frame);
            events.push(json!({ "type": "O", "frame": place, "at": frame.begin }));
            open.push((place, frame.end));
        }
        close(&mut open, 0, &mut events);
        json!({
            "type": "evented", "name": title, "unit": "nanoseconds",
            "startValue": 0, "endValue": end, "events": events,
        })
    }
}

/// Closes frames, inner ones first, until `depth` are open.
fn close(open: &mut Vec<(usize, Nanos)>, depth: usize, events: &mut Vec<Value>) {
    while open.len() > depth {
        let (place, end) = open.pop().expect("more frames are open than wanted");
        events.push(json!({ "type": "C", "frame": place, "at": end }));
    }
}
