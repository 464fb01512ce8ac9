//! Compilations, and the calls that caused them.

use std::collections::BTreeMap;

use crate::attribute::Compile;
use crate::attribute::steps::Repeated;
use crate::intervals::Span;
use crate::model::{Place, Trace};
use crate::names::ByName;
use crate::rules::{TORCH_CACHE, TORCH_COMPILER, TorchRole};

/// Compilations by frame and number.
#[derive(Default)]
pub(super) struct Compiles(pub(super) BTreeMap<(u64, u64), Compile>);

impl Compiles {
    pub(super) fn feed(&mut self, piece: &Trace, roles: &ByName<TorchRole>) {
        for line in piece.lines.iter().filter(|line| line.place == Place::Host) {
            let events = &line.events;
            for (index, name) in events.name.iter().enumerate() {
                if matches!(roles[*name], TorchRole::Compile(_) | TorchRole::Compiling) {
                    let span = (events.start[index], events.end(index));
                    self.add(piece.names.text(*name), span);
                }
            }
        }
    }

    /// `async_compile.wait_data: compile_id=0/1`
    fn add(&mut self, name: &str, span: Span) {
        let Some(id) = name.split("compile_id=").nth(1) else { return };
        let id = id.split([',', ' ']).next().unwrap_or(id);
        let Some((frame, turn)) = id.split_once('/') else { return };
        let (Ok(frame), Ok(turn)) = (frame.parse(), turn.parse()) else { return };
        let compile = self.0.entry((frame, turn)).or_insert_with(|| Compile {
            function: format!("frame {frame}"),
            span,
            parts: Vec::new(),
            compiler: false,
            cache: false,
            id: Some(format!("{frame}/{turn}")),
        });
        compile.span = (compile.span.0.min(span.0), compile.span.1.max(span.1));
        compile.cache |= TORCH_CACHE.iter().any(|cache| name.starts_with(cache));
        compile.compiler |= name.starts_with(TORCH_COMPILER);
    }
}

/// Calls of outermost compiled regions, for steps without annotations.
#[derive(Default)]
pub(super) struct Regions {
    pub(super) calls: Vec<Repeated>,
    /// The beginning of the look-up that leads to the next call, and the end of its compilations.
    leading: Option<i64>,
    compiling: i64,
}

impl Regions {
    pub(super) fn feed(&mut self, piece: &Trace, owner: usize, roles: &ByName<TorchRole>) {
        let events = &piece.lines[owner].events;
        for index in 0..events.len() {
            let (name, own) = (events.name[index], (events.start[index], events.end(index)));
            if self.calls.last().is_some_and(|last| own.0 < last.span.1) {
                continue;
            }
            match roles[name] {
                TorchRole::Region => {
                    let from = self.leading.take().unwrap_or(own.0);
                    self.calls.push(Repeated { name, span: own, from });
                }
                TorchRole::Guards if own.0 >= self.compiling => self.leading = Some(own.0),
                TorchRole::Compile(_) | TorchRole::Compiling => {
                    self.leading.get_or_insert(own.0);
                    self.compiling = self.compiling.max(own.1);
                }
                TorchRole::Step
                | TorchRole::Graph
                | TorchRole::Guards
                | TorchRole::Prologue
                | TorchRole::Operator
                | TorchRole::Launch
                | TorchRole::Blocked
                | TorchRole::Python
                | TorchRole::Annotation
                | TorchRole::Other => {}
            }
        }
    }
}

/// `Torch-Compiled Region: 0` for `Torch-Compiled Region: 0/1`: the same function, however often compiled.
pub(super) fn function(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}
