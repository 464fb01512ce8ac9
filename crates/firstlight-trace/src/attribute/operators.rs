//! The time of each program's operators, excluding the operators inside them.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{OperatorRow, ProgramMemory, ProgramRow};
use rustc_hash::FxHashMap;

use super::{Attribution, Own, torch};
use crate::model::{Detail, Line, Place, Trace};
use crate::names::NameId;

/// The largest number of programs shown, and of operators of each.
const MOST_PROGRAMS: usize = 20;
const MOST_OPERATORS: usize = 10;

/// The owner of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A program of JAX, by number and module.
    Program(Option<i64>, NameId),
    /// A compiled region of torch.
    Region(NameId),
    /// Operators outside all compiled regions.
    Eager,
    /// A kernel of torch whose launch was not recorded, or was in no region of its own thread.
    Unknown,
}

/// Sums up one piece after another.
pub(crate) struct Operators<'a> {
    torch: Option<torch::Operators<'a>>,
    sums: Sums,
}

impl<'a> Operators<'a> {
    pub(crate) fn new(found: &'a Attribution) -> Self {
        let torch = match &found.own {
            Own::Torch(known) => Some(torch::Operators::new(known)),
            Own::Jax(_) => None,
        };
        Self { torch, sums: Sums::default() }
    }

    pub(crate) fn feed(&mut self, piece: &Trace) {
        self.sums.open.resize(piece.lines.len(), Vec::new());
        self.sums.recent.resize(piece.names.len(), None);
        if let Some(torch) = &mut self.torch {
            torch.feed(piece, &mut self.sums);
            return;
        }
        for (number, line) in piece.lines.iter().enumerate() {
            for index in 0..line.events.len() {
                self.sums.event(piece, number, line, index);
            }
        }
    }

    /// The programs with the most time, each with its longest operators.
    pub(crate) fn finish(self, trace: &Trace) -> Vec<ProgramRow> {
        let mut programs: FxHashMap<Owner, Vec<Sum>> = FxHashMap::default();
        for sum in self.sums.slots {
            programs.entry(sum.owner).or_default().push(Sum { ns: sum.ns.max(0), ..sum });
        }
        let peaks = self.torch.map(torch::Operators::peaks).unwrap_or_default();
        let mut rows: Vec<ProgramRow> = programs
            .into_iter()
            .filter_map(|(owner, sums)| row(trace, owner, sums, peaks.get(&owner).copied()))
            .collect();
        rows.sort_by(|a, b| {
            let key = |row: &ProgramRow| (row.module.clone(), row.program.clone());
            b.total_ns.cmp(&a.total_ns).then_with(|| key(a).cmp(&key(b)))
        });
        rows.truncate(MOST_PROGRAMS);
        rows
    }
}

/// `None` for a program whose operators took no time.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with three digits")]
fn row(
    trace: &Trace,
    owner: Owner,
    mut sums: Vec<Sum>,
    peak_bytes: Option<u64>,
) -> Option<ProgramRow> {
    let names = &trace.names;
    let total: i64 = sums.iter().fold(0, |total, sum| total.saturating_add(sum.ns));
    if total == 0 {
        return None;
    }
    sums.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| names.text(a.name).cmp(names.text(b.name))));
    sums.truncate(MOST_OPERATORS);
    let operator = |sum: Sum| OperatorRow {
        name: names.text(sum.name).to_owned(),
        count: sum.count,
        total_ns: Nanos(sum.ns.unsigned_abs()),
        share: sum.ns as f64 / total as f64,
    };
    let (module, id) = match owner {
        Owner::Program(id, module) => (names.text(module), id),
        Owner::Region(name) => (names.text(name), None),
        Owner::Eager => ("eager", None),
        Owner::Unknown => ("launched from an unknown place", None),
    };
    Some(ProgramRow {
        module: module.to_owned(),
        program: id.map(|id| id.to_string()),
        total_ns: Nanos(total.unsigned_abs()),
        operators: sums.into_iter().map(operator).collect(),
        memory: id.and_then(|id| memory(trace, id)),
        peak_bytes,
    })
}

fn memory(trace: &Trace, id: i64) -> Option<ProgramMemory> {
    trace.programs.iter().find(|program| program.id == id)?.memory
}

/// The time of one operator of one program.
#[derive(Clone, Copy)]
struct Sum {
    owner: Owner,
    name: NameId,
    count: u64,
    ns: i64,
}

#[derive(Default)]
pub(crate) struct Sums {
    slots: Vec<Sum>,
    by_key: FxHashMap<(Owner, NameId), u32>,
    /// By name, the slot of the last program with such an operator, which is usually also the next one's.
    recent: Vec<Option<u32>>,
    /// The open operators on each processor thread, with their ends.
    open: Vec<Vec<(u32, i64)>>,
}

impl Sums {
    fn event(&mut self, piece: &Trace, number: usize, line: &Line, index: usize) {
        let Detail::Program { id, module: Some(module), .. } = *piece.detail(line, index) else {
            return;
        };
        // Kernels that a compiler tries on a device have a separate module, and no program.
        let tried = || !piece.names.text(module).starts_with("jit_");
        if line.place == Place::Device && id.is_none() && tried() {
            return;
        }
        let (owner, name) = (Owner::Program(id, module), line.events.name[index]);
        let (start, duration) = (line.events.start[index], line.events.duration[index]);
        if line.place == Place::Device {
            self.alone(owner, name, duration);
        } else {
            self.nested(number, owner, name, (start, duration));
        }
    }

    /// An operator on a thread, whose time is excluded from the operator around it.
    pub(super) fn nested(
        &mut self,
        line: usize,
        owner: Owner,
        name: NameId,
        (start, duration): (i64, i64),
    ) {
        let slot = self.alone(owner, name, duration);
        let open = &mut self.open[line];
        while open.pop_if(|(_, end)| *end <= start).is_some() {}
        if let Some(&(outer, end)) = open.last() {
            let sum = &mut self.slots[outer as usize];
            sum.ns = sum.ns.saturating_sub(duration.min(end - start));
        }
        open.push((slot, start.saturating_add(duration)));
    }

    /// A kernel of a device: kernels overlap, but are not nested.
    pub(super) fn alone(&mut self, owner: Owner, name: NameId, duration: i64) -> u32 {
        let slot = self.slot(owner, name);
        let sum = &mut self.slots[slot as usize];
        sum.count += 1;
        sum.ns = sum.ns.saturating_add(duration);
        slot
    }

    fn slot(&mut self, owner: Owner, name: NameId) -> u32 {
        if let Some(recent) = self.recent[name.index()]
            && self.slots[recent as usize].owner == owner
        {
            return recent;
        }
        let slots = &mut self.slots;
        let slot = *self.by_key.entry((owner, name)).or_insert_with(|| {
            slots.push(Sum { owner, name, count: 0, ns: 0 });
            u32::try_from(slots.len() - 1).expect("fewer operators than 2^32")
        });
        self.recent[name.index()] = Some(slot);
        slot
    }
}
