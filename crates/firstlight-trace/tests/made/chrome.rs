//! Small recordings written by hand as Chrome JSON; times are whole microseconds.

use std::fmt::Write as _;

use firstlight_schema::trace::{Part, Step, TraceDocument};
use firstlight_schema::version::Build;
use firstlight_trace::{Limits, Logs, document, open_bytes, read_bytes};

pub(crate) const US: u64 = 1_000;

/// Events of a Chrome trace; times are whole microseconds.
#[derive(Default)]
pub(crate) struct Events(pub(crate) String);

impl Events {
    /// A recording of JAX, as written by its converter.
    pub(crate) fn jax() -> Self {
        let mut events = Self::default();
        events.0.push_str(
            r#"{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},
               {"ph":"M","pid":9,"name":"process_name","args":{"name":"/device:GPU:0"}},"#,
        );
        events
    }

    pub(crate) fn push(
        mut self,
        (pid, tid): (u32, u32),
        cat: &str,
        name: &str,
        at: (u32, u32),
        args: &str,
    ) -> Self {
        let (ts, dur) = (at.0, at.1 - at.0);
        writeln!(
            self.0,
            r#"{{"ph":"X","pid":{pid},"tid":{tid},"cat":"{cat}","name":"{name}","ts":{ts},"dur":{dur},"args":{{{args}}}}},"#
        )
        .expect("a text can be written to");
        self
    }

    /// An event on the thread of the steps.
    pub(crate) fn main(self, name: &str, from: u32, to: u32) -> Self {
        self.push((1, 1), "", name, (from, to), "")
    }

    pub(crate) fn step(self, number: u32, from: u32, to: u32) -> Self {
        let args = format!(r#""step_num":"{number}""#);
        self.push((1, 1), "", "train", (from, to), &args)
    }

    /// An operator of a program on a thread of the processor.
    pub(crate) fn operator(self, tid: u32, name: &str, run: u32, from: u32, to: u32) -> Self {
        let args = format!(
            r#""hlo_op":"{name}","hlo_module":"jit_step","run_id":"{run}","device_ordinal":"0""#
        );
        self.push((1, tid), "", name, (from, to), &args)
    }

    pub(crate) fn torch(self, cat: &str, name: &str, from: u32, to: u32) -> Self {
        self.push((1, 1), cat, name, (from, to), "")
    }

    pub(crate) fn bytes(&self, head: &str) -> Vec<u8> {
        format!("{{{head}\"traceEvents\":[{}{{}}]}}", self.0).into_bytes()
    }

    pub(crate) fn attributed(&self) -> TraceDocument {
        self.attributed_with("", None)
    }

    /// Checks that reading at once and in pieces give the same document.
    pub(crate) fn attributed_with(&self, head: &str, logs: Option<&Logs>) -> TraceDocument {
        let bytes = self.bytes(head);
        let build = || Build::new("0", None);
        let whole = document(
            &read_bytes(&bytes, &Limits::default()).expect("a trace"),
            "trace",
            logs,
            build(),
        );
        for step in &whole.steps {
            assert_eq!(step.parts.iter().map(|row| row.ns.0).sum::<u64>(), step.duration_ns.0);
        }
        let limits = Limits { memory: 4_000, ..Limits::default() };
        if let Ok(mut opened) = open_bytes(bytes, &limits)
            && let Ok(pieces) = opened.document("trace", logs, build())
        {
            assert_eq!(pieces.steps, whole.steps);
        }
        whole
    }
}

pub(crate) fn us(step: &Step, part: Part) -> u64 {
    step.part(part).0 / US
}

/// A call of a compiled function of torch, compiled `turn` times.
pub(crate) fn call(events: Events, turn: u32, from: u32, compiled: u32) -> Events {
    let mut events = events.torch("cpu_op", "TorchDynamo Cache Lookup", from, from + 5);
    let mut at = from + 5;
    if compiled > 0 {
        let id = format!("compile_fx.x: compile_id=0/{turn}");
        events = events.torch("cpu_op", "dynamo", at, at + compiled).torch(
            "cpu_op",
            &id,
            at + 1,
            at + compiled,
        );
        at += compiled;
    }
    let region = format!("Torch-Compiled Region: 0/{turn}");
    events.torch("cpu_op", &region, at, at + 90).torch(
        "user_annotation",
        "## Call CompiledFxGraph f ##",
        at + 5,
        at + 85,
    )
}
