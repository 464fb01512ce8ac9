//! The operators of torch by their compiled region: on a processor the operators themselves, on a device the
//! kernels by their launches.

use rustc_hash::FxHashMap;

use super::{Known, Launched};
use crate::attribute::operators::{Owner, Sums};
use crate::memory::{peak_within, samples_of_largest};
use crate::model::{Detail, Line, MemorySample, Place, Trace};
use crate::names::{Category, NameId};
use crate::rules::TorchRole;

/// The open operators on the threads, and the memory in use in each region.
pub(crate) struct Operators<'a> {
    known: &'a Known,
    threads: Vec<Thread>,
    /// Samples of the largest allocator, taken once.
    samples: Option<Vec<MemorySample>>,
    peaks: FxHashMap<Owner, u64>,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// The outermost region, and where it ends.
    region: Option<(NameId, i64)>,
    /// The end of the current compilation.
    compiling: i64,
}

impl<'a> Operators<'a> {
    pub(crate) fn new(known: &'a Known) -> Self {
        Self { known, threads: Vec::new(), samples: None, peaks: FxHashMap::default() }
    }

    pub(crate) fn feed(&mut self, piece: &Trace, sums: &mut Sums) {
        self.threads.resize(piece.lines.len(), Thread::default());
        if self.samples.is_none() {
            self.samples = Some(samples_of_largest(piece));
        }
        for (number, line) in piece.lines.iter().enumerate() {
            match line.place {
                Place::Host => self.thread(line, number, sums),
                Place::Device => self.device(piece, line, sums),
            }
        }
    }

    /// The peak memory inside each region.
    pub(crate) fn peaks(self) -> FxHashMap<Owner, u64> {
        self.peaks
    }

    fn thread(&mut self, line: &Line, number: usize, sums: &mut Sums) {
        let on_processor = self.known.on_processor();
        let events = &line.events;
        for index in 0..events.len() {
            let (name, start) = (events.name[index], events.start[index]);
            let thread = &mut self.threads[number];
            match self.known.roles[name] {
                TorchRole::Region => {
                    if thread.region.is_none_or(|(_, end)| end <= start) {
                        thread.region = Some((name, events.end(index)));
                        self.remember_peak(name, (start, events.end(index)));
                    }
                }
                TorchRole::Compile(_) | TorchRole::Compiling => {
                    thread.compiling = thread.compiling.max(events.end(index));
                }
                // Trials during a compilation are not executions.
                TorchRole::Operator | TorchRole::Graph
                    if on_processor && thread.compiling <= start =>
                {
                    let region = thread.region.filter(|(_, end)| start < *end);
                    let owner = region.map_or(Owner::Eager, |(name, _)| Owner::Region(name));
                    sums.nested(number, owner, name, (start, events.duration[index]));
                }
                TorchRole::Operator
                | TorchRole::Graph
                | TorchRole::Step
                | TorchRole::Guards
                | TorchRole::Prologue
                | TorchRole::Launch
                | TorchRole::Blocked
                | TorchRole::Python
                | TorchRole::Annotation
                | TorchRole::Other => {}
            }
        }
    }

    fn remember_peak(&mut self, region: NameId, span: (i64, i64)) {
        let samples = self.samples.as_deref().unwrap_or_default();
        if let Some(peak) = peak_within(samples, span) {
            let known = self.peaks.entry(Owner::Region(region)).or_default();
            *known = peak.max(*known);
        }
    }

    fn device(&self, piece: &Trace, line: &Line, sums: &mut Sums) {
        let events = &line.events;
        for index in 0..events.len() {
            let name = events.name[index];
            if piece.names.category(name) != Category::Kernel {
                continue;
            }
            let launch = match *piece.detail(line, index) {
                Detail::Correlation(id) => self.known.launches.get(&id),
                _ => None,
            };
            let owner = match launch.map(|launch| (launch.place, launch.region)) {
                Some((Launched::Compiling, _)) => continue,
                Some((Launched::Region, Some(region))) => Owner::Region(region),
                Some((Launched::Outside, _)) => Owner::Eager,
                Some((Launched::Region, None)) | None => Owner::Unknown,
            };
            sums.alone(owner, name, events.duration[index]);
        }
    }
}
