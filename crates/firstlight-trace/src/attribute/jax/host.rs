//! The thread of the steps: calls of compiled functions, compilations in them, and waits.

use firstlight_schema::trace::Part;
use rustc_hash::FxHashMap;

use crate::attribute::Compile;
use crate::intervals::Span;
use crate::model::{Detail, Trace};
use crate::names::{ByName, NameId, Names};
use crate::rules::JaxRole;

/// The events of the steps' thread, piece by piece.
#[derive(Default)]
pub(super) struct Host {
    pub(super) calls: Vec<(NameId, Span)>,
    pub(super) compiles: Vec<Compile>,
    blocked: Vec<Span>,
    fetching: Vec<Span>,
    /// From one event to the other event with the same number.
    pub(super) awaits: Vec<Span>,
    waits: FxHashMap<u64, i64>,
    open: Option<Open>,
    /// Times at which caches were cleared.
    pub(super) cleared: Vec<i64>,
}

/// An open call, and its events so far.
struct Open {
    /// The called function; `None` for a compilation outside any call.
    function: Option<NameId>,
    span: Span,
    marks: Vec<(JaxRole, Span)>,
}

impl Host {
    pub(super) fn feed(&mut self, piece: &Trace, owner: usize, roles: &ByName<JaxRole>) {
        let line = &piece.lines[owner];
        let events = &line.events;
        for index in 0..events.len() {
            let name = events.name[index];
            let span = (events.start[index], events.end(index));
            match *piece.detail(line, index) {
                Detail::Produces(id) => {
                    self.waits.insert(id, span.0);
                }
                Detail::Consumes(id) => {
                    if let Some(began) = self.waits.remove(&id) {
                        self.awaits.push((began, span.1));
                    }
                }
                _ => {}
            }
            let role = roles[name];
            match role {
                JaxRole::Blocked => self.blocked.push(span),
                JaxRole::Fetch => self.fetching.push(span),
                JaxRole::Clear => self.cleared.push(span.0),
                JaxRole::Call | JaxRole::Lower | JaxRole::Compile | JaxRole::FirstRun => {
                    if self.open.as_ref().is_some_and(|open| open.span.1 <= span.0) {
                        self.close(&piece.names);
                    }
                    match &mut self.open {
                        // A call inside a call is traced, not dispatched.
                        Some(_) if role == JaxRole::Call => {}
                        Some(open) => open.marks.push((role, span)),
                        None => {
                            let function = (role == JaxRole::Call).then_some(name);
                            let own = if function.is_some() { None } else { Some((role, span)) };
                            let marks = own.into_iter().collect();
                            self.open = Some(Open { function, span, marks });
                        }
                    }
                }
                JaxRole::Run
                | JaxRole::Completion
                | JaxRole::Callback
                | JaxRole::Python
                | JaxRole::Other => {}
            }
        }
    }

    pub(super) fn finish(&mut self, names: &Names) {
        self.close(names);
    }

    /// Calls, including the open one, and waits since the last query.
    pub(super) fn times(&mut self) -> (Vec<Span>, Vec<Span>, Vec<Span>) {
        // Both are known for the whole recording.
        self.awaits.clear();
        self.compiles.clear();
        let open = self.open.as_ref().filter(|open| open.function.is_some());
        let calls = self.calls.drain(..).map(|(_, span)| span);
        let calls = calls.chain(open.map(|open| open.span)).collect();
        (calls, std::mem::take(&mut self.blocked), std::mem::take(&mut self.fetching))
    }

    /// Drops times that are only used piece by piece.
    pub(super) fn forget_times(&mut self, calls_are_wanted: bool) {
        self.blocked.clear();
        self.fetching.clear();
        if !calls_are_wanted {
            self.calls.clear();
        }
    }

    pub(super) fn held(&self) -> u64 {
        let each = |count: usize, bytes: usize| (count * bytes) as u64;
        each(self.calls.len(), size_of::<(NameId, Span)>())
            + each(self.awaits.len(), size_of::<Span>())
            + each(self.waits.len(), size_of::<(u64, i64)>())
    }

    fn close(&mut self, names: &Names) {
        let Some(open) = self.open.take() else { return };
        self.calls.extend(open.function.map(|name| (name, open.span)));
        let lowered = open.marks.iter().any(|(role, _)| *role == JaxRole::Lower);
        let compiler = open.marks.iter().any(|(role, _)| *role == JaxRole::Compile);
        if !lowered && !compiler {
            return;
        }
        let parts = phases(&open);
        let end = parts.last().map_or(open.span.1, |(_, span)| span.1);
        self.compiles.push(Compile {
            function: open.function.map_or("?", |name| function(names.text(name))).to_owned(),
            span: (open.span.0, end),
            parts,
            compiler,
            // A function that was lowered but never compiled was read from a cache.
            cache: !compiler,
            id: None,
        });
    }
}

/// Divides a call that missed the cache: time before a lowering is tracing, time between it and the compiler
/// belongs to the lowering, and time after the compiler until the first run belongs to the compiler.
fn phases(open: &Open) -> Vec<(Part, Span)> {
    let mut parts: Vec<(Part, Span)> = Vec::new();
    let mut at = open.span.0;
    let mut push = |parts: &mut Vec<(Part, Span)>, part: Part, to: i64| {
        if at < to {
            parts.push((part, (at, to)));
            at = to;
        }
    };
    let mut now = Part::Trace;
    let last = open.marks.iter().rposition(|(role, _)| *role != JaxRole::FirstRun);
    for (index, (role, span)) in open.marks.iter().enumerate() {
        match role {
            JaxRole::Lower => {
                push(&mut parts, Part::Trace, span.0);
                push(&mut parts, Part::Lower, span.1);
                now = Part::Lower;
            }
            JaxRole::Compile => {
                push(&mut parts, now, span.0);
                push(&mut parts, Part::Compile, span.1);
                now = Part::Compile;
            }
            // A first run inside a tracing call belongs to a constant.
            JaxRole::FirstRun if last.is_some_and(|last| index > last) => {
                push(&mut parts, Part::Compile, span.0);
                break;
            }
            _ => {}
        }
    }
    parts
}

/// `step` of `PjitFunction(step)`.
pub(super) fn function(name: &str) -> &str {
    name.strip_prefix("PjitFunction(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(name)
}
