//! Writes a speedscope file of the steps' thread and of every other line that fits, to inspect single events.
//! Format: <https://www.speedscope.app/file-format-schema.json>, evented profiles.

use std::io::{self, Write};

use serde::Serialize;

use crate::model::{Line, Trace};

#[derive(Serialize)]
struct Head<'a> {
    name: &'a str,
}

/// Writes the trace; partly overlapping events are cut to their enclosing one, because the format requires
/// nesting.
pub fn speedscope(trace: &Trace, name: &str, mut to: impl Write) -> io::Result<()> {
    let json = |text: &str| serde_json::to_string(text).expect("a string is valid JSON");
    write!(
        to,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\
         \"firstlight\",\"name\":{},\"shared\":{{\"frames\":[",
        json(name)
    )?;
    for (index, id) in trace.names.ids().enumerate() {
        if index > 0 {
            to.write_all(b",")?;
        }
        let frame = serde_json::to_string(&Head { name: trace.names.text(id) });
        to.write_all(frame.expect("a string is valid JSON").as_bytes())?;
    }
    to.write_all(b"]},\"profiles\":[")?;
    for (index, line) in trace.lines.iter().enumerate() {
        if index > 0 {
            to.write_all(b",")?;
        }
        profile(line, &json(&format!("{}, {}", line.group, line.name)), &mut to)?;
    }
    to.write_all(b"]}\n")
}

fn profile(line: &Line, name: &str, to: &mut impl Write) -> io::Result<()> {
    let events = &line.events;
    let end = (0..events.len()).map(|index| events.end(index)).max().unwrap_or(0);
    let start = events.start.first().copied().unwrap_or(0);
    write!(
        to,
        "{{\"type\":\"evented\",\"name\":{name},\"unit\":\"nanoseconds\",\"startValue\":{start},\
         \"endValue\":{end},\"events\":["
    )?;
    let mut stack: Vec<(usize, i64)> = Vec::new();
    let mut first = true;
    let mut write = |to: &mut dyn Write, kind: char, frame: usize, at: i64| {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        write!(to, "{comma}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}")
    };
    for index in 0..events.len() {
        let at = events.start[index];
        while let Some((frame, end)) = stack.pop_if(|open| open.1 <= at) {
            write(to, 'C', frame, end)?;
        }
        let end = stack.last().map_or(events.end(index), |outer| events.end(index).min(outer.1));
        let frame = events.name[index].index();
        write(to, 'O', frame, at)?;
        stack.push((frame, end.max(at)));
    }
    while let Some((frame, end)) = stack.pop() {
        write(to, 'C', frame, end)?;
    }
    to.write_all(b"]}")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::speedscope;
    use crate::limits::Limits;
    use crate::read::read_bytes;

    #[test]
    fn events_close_in_reverse_order() {
        let text = r#"[{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":10},
            {"ph":"X","name":"inner \"x\"","pid":1,"tid":1,"ts":2,"dur":20},
            {"ph":"X","name":"next","pid":1,"tid":1,"ts":12,"dur":1}]"#;
        let trace = read_bytes(text.as_bytes(), &Limits::default()).unwrap();
        let mut out = Vec::new();
        speedscope(&trace, "t", &mut out).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        let events: Vec<String> = file["profiles"][0]["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| {
                format!("{}{}@{}", event["type"].as_str().unwrap(), event["frame"], event["at"])
            })
            .collect();
        assert_eq!(events, ["O0@0", "O1@2000", "C1@10000", "C0@10000", "O2@12000", "C2@13000"]);
    }
}
