//! The threads of the host: regions, graphs, operators, look-ups, and compilations.

use firstlight_schema::trace::Part;

use crate::intervals::Span;
use crate::model::{Detail, Line, Place, Trace};
use crate::names::{ByName, NameId};
use crate::rules::TorchRole;

/// All threads, piece by piece.
#[derive(Default)]
pub(super) struct Threads(Vec<Thread>);

/// The open parts of a thread, with their ends.
#[derive(Default)]
struct Thread {
    stack: Vec<(Part, i64)>,
    at: i64,
    /// The end of the last outermost operator.
    operating: i64,
    /// The outermost region, and where it ends.
    region: Option<(NameId, i64)>,
}

/// A launch by its number: its line, its time and its region.
pub(super) struct FoundLaunch {
    pub(super) id: u64,
    pub(super) line: u32,
    pub(super) at: i64,
    pub(super) region: Option<NameId>,
}

/// The events of the threads in a piece.
#[derive(Default)]
pub(super) struct Done {
    /// On each thread the innermost event with its own part.
    pub(super) compiling: Vec<(Part, Span)>,
    pub(super) region: Vec<Span>,
    pub(super) graph: Vec<Span>,
    pub(super) guards: Vec<Span>,
    pub(super) prologue: Vec<Span>,
    /// Outermost operators.
    pub(super) operators: Vec<Span>,
    pub(super) launches: Vec<FoundLaunch>,
}

impl Threads {
    pub(super) fn feed(&mut self, piece: &Trace, span: Span, roles: &ByName<TorchRole>) -> Done {
        self.0.resize_with(piece.lines.len(), Thread::default);
        let mut done = Done::default();
        for (index, (line, thread)) in (0..).zip(piece.lines.iter().zip(&mut self.0)) {
            if line.place == Place::Host {
                thread.feed(piece, index, line, roles, &mut done);
                thread.book(&mut done.compiling, span.1);
            }
        }
        done
    }
}

impl Thread {
    fn feed(
        &mut self,
        piece: &Trace,
        own: u32,
        line: &Line,
        roles: &ByName<TorchRole>,
        done: &mut Done,
    ) {
        let events = &line.events;
        for index in 0..events.len() {
            let span = (events.start[index], events.end(index));
            if let Detail::Correlation(id) = *piece.detail(line, index) {
                let region = self.region.filter(|(_, end)| span.0 < *end).map(|(name, _)| name);
                done.launches.push(FoundLaunch { id, line: own, at: span.0, region });
            }
            match roles[events.name[index]] {
                TorchRole::Region => {
                    done.region.push(span);
                    if self.region.is_none_or(|(_, end)| end <= span.0) {
                        self.region = Some((events.name[index], span.1));
                    }
                }
                TorchRole::Graph => {
                    done.region.push(span);
                    done.graph.push(span);
                }
                TorchRole::Operator if span.1 > self.operating => {
                    self.operating = span.1;
                    done.operators.push(span);
                }
                TorchRole::Guards => done.guards.push(span),
                TorchRole::Prologue => done.prologue.push(span),
                role @ (TorchRole::Compile(_) | TorchRole::Compiling) => {
                    self.book(&mut done.compiling, span.0);
                    let part = match role {
                        TorchRole::Compile(part) => part,
                        _ => self.stack.last().map_or(Part::Lower, |(part, _)| *part),
                    };
                    let end = self.stack.last().map_or(span.1, |(_, outer)| span.1.min(*outer));
                    self.stack.push((part, end));
                }
                TorchRole::Step
                | TorchRole::Operator
                | TorchRole::Launch
                | TorchRole::Blocked
                | TorchRole::Python
                | TorchRole::Annotation
                | TorchRole::Other => {}
            }
        }
    }

    /// Attributes the time between the last change and `until` to the innermost open event.
    fn book(&mut self, compiling: &mut Vec<(Part, Span)>, until: i64) {
        while let Some(&(part, end)) = self.stack.last() {
            let to = end.min(until);
            if self.at < to {
                compiling.push((part, (self.at, to)));
                self.at = to;
            }
            if end > until {
                break;
            }
            self.stack.pop();
        }
        self.at = self.at.max(until);
    }
}
