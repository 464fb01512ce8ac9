//! What the operators of each program took, without the operators inside them.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{OperatorRow, ProgramRow};
use rustc_hash::FxHashMap;

use crate::model::{Detail, Line, Place, Trace};
use crate::names::{NameId, Names};

/// Programs that are shown, and operators of each.
const MOST_PROGRAMS: usize = 20;
const MOST_OPERATORS: usize = 10;

type Program = (Option<i64>, Option<NameId>);

/// Sums up one piece after another.
#[derive(Default)]
pub(crate) struct Operators {
    sums: FxHashMap<(Program, NameId), (u64, i64)>,
    /// What is open on each thread of the processor, and where it ends.
    open: Vec<Vec<((Program, NameId), i64)>>,
}

impl Operators {
    pub(crate) fn feed(&mut self, piece: &Trace) {
        self.open.resize(piece.lines.len(), Vec::new());
        for (number, line) in piece.lines.iter().enumerate() {
            for index in 0..line.events.len() {
                self.event(piece, number, line, index);
            }
        }
    }

    fn event(&mut self, piece: &Trace, number: usize, line: &Line, index: usize) {
        let Detail::Program { id, module: Some(module), .. } = *piece.detail(line, index) else {
            return;
        };
        // Kernels that a compiler tries out on a device have a module of their own, and no program.
        let tried = || !piece.names.text(module).starts_with("jit_");
        if line.place == Place::Device && id.is_none() && tried() {
            return;
        }
        let key = ((id, Some(module)), line.events.name[index]);
        let (start, duration) = (line.events.start[index], line.events.duration[index]);
        let sum = self.sums.entry(key).or_default();
        sum.0 += 1;
        sum.1 = sum.1.saturating_add(duration);
        // Kernels of a device overlap, and none is inside another.
        if line.place == Place::Device {
            return;
        }
        let open = &mut self.open[number];
        while open.pop_if(|(_, end)| *end <= start).is_some() {}
        if let Some((outer, end)) = open.last() {
            let inside = duration.min(*end - start);
            if let Some(sum) = self.sums.get_mut(outer) {
                sum.1 = sum.1.saturating_sub(inside);
            }
        }
        open.push((key, start.saturating_add(duration)));
    }

    /// The programs that took most, each with its longest operators.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with three digits")]
    pub(crate) fn finish(self, names: &Names) -> Vec<ProgramRow> {
        let mut programs: FxHashMap<Program, Vec<(NameId, u64, i64)>> = FxHashMap::default();
        for ((program, name), (count, ns)) in self.sums {
            programs.entry(program).or_default().push((name, count, ns.max(0)));
        }
        let mut rows: Vec<ProgramRow> = Vec::new();
        for ((id, module), mut operators) in programs {
            let total: i64 = operators.iter().fold(0, |sum, (_, _, ns)| sum.saturating_add(*ns));
            if total == 0 {
                continue;
            }
            operators
                .sort_by(|a, b| b.2.cmp(&a.2).then_with(|| names.text(a.0).cmp(names.text(b.0))));
            operators.truncate(MOST_OPERATORS);
            let row = |(name, count, ns): (NameId, u64, i64)| OperatorRow {
                name: names.text(name).to_owned(),
                count,
                total_ns: Nanos(ns.unsigned_abs()),
                share: ns as f64 / total as f64,
            };
            rows.push(ProgramRow {
                module: module.map_or("?", |module| names.text(module)).to_owned(),
                program: id.map(|id| id.to_string()),
                total_ns: Nanos(total.unsigned_abs()),
                operators: operators.into_iter().map(row).collect(),
            });
        }
        rows.sort_by(|a, b| {
            let key = |row: &ProgramRow| (row.module.clone(), row.program.clone());
            b.total_ns.cmp(&a.total_ns).then_with(|| key(a).cmp(&key(b)))
        });
        rows.truncate(MOST_PROGRAMS);
        rows
    }
}
