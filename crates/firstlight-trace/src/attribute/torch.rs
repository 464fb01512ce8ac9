//! torch.compile: compiled regions on every thread, kernels by who launched them, compilations by
//! their ids. Compiling wins over the region, for kernels are tried out inside of it.

use std::collections::BTreeMap;

use firstlight_schema::trace::{FrameKind, Framework, Part, StepsBy};
use rustc_hash::FxHashMap;

use super::steps::{by_repetition, outermost, whole};
use super::{Compile, Findings, Mark};
use crate::intervals::{Set, Span};
use crate::model::{Detail, Line, Place, Trace};
use crate::names::{ByName, Category};
use crate::rules::{TORCH, TORCH_CACHE, TORCH_COMPILER, TorchRole, torch_role};

pub(crate) fn find(trace: &Trace) -> Findings {
    let roles = trace.names.map(torch_role);
    let mut threads = Threads::default();
    for line in trace.lines.iter().filter(|line| line.place == Place::Host) {
        threads.walk(trace, line, &roles);
    }
    let owner = owner(trace, &roles);
    let compiling = Set::union(threads.compiling.iter().map(|(_, span)| *span).collect());
    let region = Set::union(threads.region.clone());
    let kernels = Kernels::walk(trace, &threads, &compiling, &region);
    let (steps_by, steps) = steps(trace, owner, &roles);
    let blocked = on_line(&trace.lines[owner], |name| roles[name] == TorchRole::Blocked);
    // Without a device the graph itself runs on the host.
    let graph = if kernels.any { Set::default() } else { Set::union(threads.graph) };
    let of = |part: Part| {
        let spans = threads.compiling.iter().filter(|(own, _)| *own == part);
        Set::union(spans.map(|(_, span)| *span).collect())
    };
    let busy = kernels.compiled.or(&kernels.eager).or(&kernels.tried).or(&graph);
    Findings {
        framework: Framework::Torch,
        rules: TORCH,
        steps_by,
        owner,
        steps,
        layers: vec![
            (Part::Autotune, of(Part::Autotune).or(&kernels.tried.and(&compiling))),
            (Part::Compile, of(Part::Compile)),
            (Part::Lower, of(Part::Lower)),
            (Part::Trace, of(Part::Trace)),
            (Part::Compiled, kernels.compiled.or(&graph)),
            (Part::Eager, kernels.eager),
            (Part::Transfer, kernels.moved),
            (Part::Guards, Set::union(threads.guards)),
            (Part::Prologue, Set::union(threads.prologue)),
            (Part::Call, region.clone()),
            (Part::Blocked, Set::union(blocked)),
        ],
        calls: region.clone(),
        region,
        busy,
        compiles: threads.compiles.into_values().collect(),
        frames: trace.names.map(|category, name| match torch_role(category, name) {
            TorchRole::Python => FrameKind::Python,
            TorchRole::Annotation => FrameKind::Annotation,
            _ => FrameKind::Framework,
        }),
    }
}

/// The thread of the steps, or else the busiest.
fn owner(trace: &Trace, roles: &ByName<TorchRole>) -> usize {
    let worth = |line: &Line| {
        if line.place == Place::Device {
            return (0, 0);
        }
        let steps = line.events.name.iter().filter(|name| roles[**name] == TorchRole::Step).count();
        (steps, line.events.len())
    };
    let lines = (0..trace.lines.len()).max_by_key(|&line| worth(&trace.lines[line]));
    lines.expect("a trace has lines")
}

fn steps(trace: &Trace, owner: usize, roles: &ByName<TorchRole>) -> (StepsBy, Vec<Mark>) {
    let events = &trace.lines[owner].events;
    let span = |index: usize| (events.start[index], events.end(index));
    let of =
        |role: TorchRole| (0..events.len()).filter(move |&index| roles[events.name[index]] == role);
    let marked = of(TorchRole::Step).map(|index| {
        let name = trace.names.text(events.name[index]);
        let number = name.rsplit('#').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        Mark { name: "ProfilerStep".to_owned(), number, span: span(index) }
    });
    let marked = outermost(marked.collect());
    if !marked.is_empty() {
        return (StepsBy::Annotation, marked);
    }
    let mut calls: Vec<(String, Span)> = Vec::new();
    for index in of(TorchRole::Region) {
        let own = span(index);
        if calls.last().is_none_or(|(_, last)| last.1 <= own.0) {
            calls.push((trace.names.text(events.name[index]).to_owned(), own));
        }
    }
    by_repetition(&calls, StepsBy::RepeatedCall).unwrap_or_else(|| whole(trace))
}

fn on_line(line: &Line, wanted: impl Fn(crate::names::NameId) -> bool) -> Vec<Span> {
    let events = &line.events;
    let all = (0..events.len()).filter(|&index| wanted(events.name[index]));
    all.map(|index| (events.start[index], events.end(index))).collect()
}

/// What all threads did.
#[derive(Default)]
struct Threads {
    /// On each thread the innermost that has a part of its own.
    compiling: Vec<(Part, Span)>,
    region: Vec<Span>,
    graph: Vec<Span>,
    guards: Vec<Span>,
    prologue: Vec<Span>,
    compiles: BTreeMap<(u64, u64), Compile>,
    /// When something was launched, by its number.
    launches: FxHashMap<u64, i64>,
}

impl Threads {
    fn walk(&mut self, trace: &Trace, line: &Line, roles: &ByName<TorchRole>) {
        let events = &line.events;
        let mut stack: Vec<(Part, i64)> = Vec::new();
        let mut at = 0;
        // Books what lies between the last change and `until` to the innermost that is open.
        let mut book = |stack: &mut Vec<(Part, i64)>, compiling: &mut Vec<_>, until: i64| {
            while let Some(&(part, end)) = stack.last() {
                let to = end.min(until);
                if at < to {
                    compiling.push((part, (at, to)));
                    at = to;
                }
                if end > until {
                    break;
                }
                stack.pop();
            }
            at = at.max(until);
        };
        for index in 0..events.len() {
            let span = (events.start[index], events.end(index));
            if let Detail::Correlation(id) = *trace.detail(line, index) {
                self.launches.insert(id, span.0);
            }
            let name = events.name[index];
            match roles[name] {
                TorchRole::Region => self.region.push(span),
                TorchRole::Graph => {
                    self.region.push(span);
                    self.graph.push(span);
                }
                TorchRole::Guards => self.guards.push(span),
                TorchRole::Prologue => self.prologue.push(span),
                role @ (TorchRole::Compile(_) | TorchRole::Compiling) => {
                    book(&mut stack, &mut self.compiling, span.0);
                    let part = match role {
                        TorchRole::Compile(part) => part,
                        _ => stack.last().map_or(Part::Lower, |(part, _)| *part),
                    };
                    let end = stack.last().map_or(span.1, |(_, outer)| span.1.min(*outer));
                    stack.push((part, end));
                    self.compilation(trace.names.text(name), span);
                }
                TorchRole::Step
                | TorchRole::Blocked
                | TorchRole::Python
                | TorchRole::Annotation
                | TorchRole::Other => {}
            }
        }
        book(&mut stack, &mut self.compiling, i64::MAX);
    }

    /// `async_compile.wait_data: compile_id=0/1`
    fn compilation(&mut self, name: &str, span: Span) {
        let Some(id) = name.split("compile_id=").nth(1) else { return };
        let id = id.split([',', ' ']).next().unwrap_or(id);
        let Some((frame, turn)) = id.split_once('/') else { return };
        let (Ok(frame), Ok(turn)) = (frame.parse(), turn.parse()) else { return };
        let compile = self.compiles.entry((frame, turn)).or_insert_with(|| Compile {
            function: format!("frame {frame}"),
            span,
            parts: Vec::new(),
            compiler: false,
            cache: false,
            id: Some(id.to_owned()),
        });
        compile.span = (compile.span.0.min(span.0), compile.span.1.max(span.1));
        compile.cache |= TORCH_CACHE.iter().any(|cache| name.starts_with(cache));
        compile.compiler |= name.starts_with(TORCH_COMPILER);
    }
}

/// What ran on devices, by who launched it.
#[derive(Default)]
struct Kernels {
    any: bool,
    compiled: Set,
    eager: Set,
    tried: Set,
    moved: Set,
}

impl Kernels {
    fn walk(trace: &Trace, threads: &Threads, compiling: &Set, region: &Set) -> Self {
        let (mut compiled, mut eager, mut tried, mut moved) = (vec![], vec![], vec![], vec![]);
        let mut any = false;
        for line in trace.lines.iter().filter(|line| line.place == Place::Device) {
            let events = &line.events;
            for index in 0..events.len() {
                let span = (events.start[index], events.end(index));
                let launched = match *trace.detail(line, index) {
                    Detail::Correlation(id) => threads.launches.get(&id).copied(),
                    _ => None,
                };
                let launched = launched.unwrap_or(span.0);
                let category = trace.names.category(events.name[index]);
                any |= category == Category::Kernel;
                match category {
                    Category::Memcpy | Category::Memset if !compiling.contains(launched) => {
                        moved.push(span);
                    }
                    Category::Kernel | Category::Memcpy | Category::Memset => {
                        if compiling.contains(launched) {
                            tried.push(span);
                        } else if region.contains(launched) {
                            compiled.push(span);
                        } else {
                            eager.push(span);
                        }
                    }
                    Category::None
                    | Category::CpuOp
                    | Category::UserAnnotation
                    | Category::GpuUserAnnotation
                    | Category::PythonFunction
                    | Category::CudaRuntime
                    | Category::Overhead
                    | Category::Other => {}
                }
            }
        }
        Self {
            any,
            compiled: Set::union(compiled),
            eager: Set::union(eager),
            tried: Set::union(tried),
            moved: Set::union(moved),
        }
    }
}
