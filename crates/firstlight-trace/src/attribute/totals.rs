//! Totals of the whole recording for any framework: events by name, its length, Python frames.

use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{EventRow, FrameKind};

use crate::model::{Place, Trace};
use crate::names::{ByName, Names};

/// The largest number of names in the table of events; the rest have negligible sums.
const MOST_EVENTS: usize = 2_000;

pub(crate) struct Totals {
    /// Count and time by name, on the host and on devices.
    sums: Vec<[(u64, u64); 2]>,
    /// The end of the last event.
    pub(crate) end: i64,
    /// Whether the thread of the steps has Python frames.
    pub(crate) python: bool,
}

impl Totals {
    pub(super) fn new(names: &Names) -> Self {
        Self { sums: vec![[(0, 0); 2]; names.len()], end: 0, python: false }
    }

    pub(super) fn feed(&mut self, piece: &Trace, owner: usize, frames: &ByName<FrameKind>) {
        for line in &piece.lines {
            let place = usize::from(line.place == Place::Device);
            for (name, duration) in line.events.name.iter().zip(&line.events.duration) {
                let sum = &mut self.sums[name.index()][place];
                sum.0 += 1;
                sum.1 = sum.1.saturating_add(duration.unsigned_abs());
            }
            let ends = (0..line.events.len()).map(|index| line.events.end(index));
            self.end = ends.max().map_or(self.end, |end| self.end.max(end));
        }
        let names = &piece.lines[owner].events.name;
        self.python = self.python || names.iter().any(|name| frames[*name] == FrameKind::Python);
    }

    /// All names, the largest sum first.
    #[expect(clippy::cast_precision_loss, reason = "a mean is shown with three digits")]
    pub(crate) fn events(&self, names: &Names) -> Vec<EventRow> {
        let mut rows: Vec<EventRow> = Vec::new();
        for (id, places) in names.ids().zip(&self.sums) {
            for (place, &(count, total)) in places.iter().enumerate() {
                if count > 0 {
                    rows.push(EventRow {
                        name: names.text(id).to_owned(),
                        on_device: place == 1,
                        count,
                        total_ns: Nanos(total),
                        mean_ns: total as f64 / count as f64,
                    });
                }
            }
        }
        rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
        rows.truncate(MOST_EVENTS);
        rows
    }
}
