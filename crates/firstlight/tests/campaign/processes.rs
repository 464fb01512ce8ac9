//! Measured processes that fail, lie, hang and send invalid messages.

use std::fs;

use super::random::Random;
use super::stage::{Stage, expect};
use super::{Row, Size};

const HELLO: &str = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":1},"role":"hooks","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;
const RUNNER: &str = r#"{"say":{"type":"hello","protocol":{"major":1,"minor":1},"role":"runner","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}}"#;
/// Actions that a process may take at any point, in any combination.
const DEEDS: [&str; 16] = [
    r#"{"stderr":"words\n"}"#,
    r#"{"stdout":100000}"#,
    r#"{"sleep-ms":5}"#,
    r#"{"close":null}"#,
    r#"{"raw":"{\"type\":\"phase\""}"#,
    r#"{"raw":"nonsense\n"}"#,
    r#"{"raw":"\u0000\u001b[2J\n"}"#,
    r#"{"say":{"type":"bye","at":"$now"}}"#,
    r#"{"say":{"type":"bye","at":1}}"#,
    r#"{"say":{"type":"bye","at":18446744073709551615}}"#,
    r#"{"say":{"type":"phase","edge":"begin","name":"run","label":null,"at":"$now","thread":0}}"#,
    r#"{"say":{"type":"phase","edge":"end","name":"run","label":null,"at":"$now","thread":0}}"#,
    r#"{"say":{"type":"iterations","part":"first","last":true,"spans":[["$now","$now"],["$now","$now"]]}}"#,
    r#"{"say":{"type":"iterations","part":"window","last":false,"spans":[["$now",9000000000000000000]]}}"#,
    r#"{"say":{"type":"failed","at":"$now","error":"it failed","traceback":""}}"#,
    r#"{"say":{"type":"event","at":"$now","event":{"kind":"mark","name":"\u001b]0;x\u0007"}}}"#,
];
/// The ways in which it ends.
const ENDS: [&str; 7] = [
    r#"{"exit":0}"#,
    r#"{"exit":3}"#,
    r#"{"signal":6}"#,
    r#"{"signal":9}"#,
    r#"{"signal":11}"#,
    r#"{"hang":null}"#,
    "{\"ignore-term\":null}\n{\"hang\":null}",
];

pub(super) fn faults(stage: &Stage<'_>, size: Size) -> Row {
    stage.cases(size.processes, |_, random| {
        let place = stage.place();
        let script = script(random);
        place.write("script.jsonl", &script);
        let replay = place.replay();
        let arguments = ["cold", "--runs", "2", "--timeout", "300ms", "--output", "run", "--"];
        let mut all = arguments.to_vec();
        all.extend([replay.as_str(), "script.jsonl"]);
        let ended = place.firstlight(&all)?;
        expect(&ended, &[0, 5])?;
        let raw = fs::read_to_string(place.path().join("run/raw.jsonl"))
            .map_err(|error| format!("the samples are lost: {error}"))?;
        if raw.lines().count() == 0 || !raw.ends_with('\n') {
            return Err("a sample is lost".to_owned());
        }
        expect(&place.firstlight(&["verify", "run"])?, &[0])?;
        place.is_clear("script.jsonl")
    })
}

fn script(random: &mut Random) -> String {
    let mut lines = vec![random.pick(&[HELLO, RUNNER])];
    for _ in 0..random.below(6) {
        lines.push(random.pick(&DEEDS));
    }
    lines.push(random.pick(&ENDS));
    lines
        .join("\n")
        .replace(r#"{"close":null}"#, r#""close""#)
        .replace(r#"{"hang":null}"#, r#""hang""#)
        .replace(r#"{"ignore-term":null}"#, r#""ignore-term""#)
}
