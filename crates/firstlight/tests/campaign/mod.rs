//! The hostile campaign: faults, signals, full disks, mutations, archives, injection and secrets. Every case
//! must end without a panic, a hang, an orphan or a wrong exit code, and no mutation may be missed.
//!
//! `cargo xtask faults` runs all of it; one of the tests runs a short form.

mod archives;
mod disks;
mod injection;
mod memory;
mod mutations;
mod processes;
mod random;
mod secrets;
mod signals;
mod stage;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use stage::Stage;

/// The paths of the programs that the campaign starts.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) firstlight: PathBuf,
    pub(crate) replay: PathBuf,
}

/// The number of cases of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) processes: usize,
    pub(crate) signals: usize,
    pub(crate) disks: usize,
    pub(crate) mutations: usize,
    pub(crate) archives: usize,
    pub(crate) payloads: usize,
    pub(crate) secrets: usize,
}

impl Size {
    pub(crate) const FULL: Self = Self {
        processes: 100,
        signals: 80,
        disks: 30,
        mutations: 10_000,
        archives: 240,
        payloads: 13,
        secrets: 20,
    };
    pub(crate) const SHORT: Self = Self {
        processes: 8,
        signals: 6,
        disks: 2,
        mutations: 200,
        archives: 40,
        payloads: 2,
        secrets: 2,
    };
}

/// The result of one kind of cases.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) tried: usize,
    /// Why each lost case was lost.
    pub(crate) lost: Vec<String>,
    pub(crate) seconds: f64,
    /// A figure next to the counts.
    pub(crate) note: String,
}

/// All kinds, one after the other; each distributes its cases over all cores.
pub(crate) fn campaign(programs: &Programs, size: Size, seed: u64) -> Vec<Row> {
    type Kind = (&'static str, fn(&Stage<'_>, Size) -> Row);
    let kinds: [Kind; 8] = [
        ("process faults", processes::faults),
        ("signals", signals::signals),
        ("full disks", disks::disks),
        ("mutations", mutations::mutations),
        ("archives", archives::archives),
        ("injection", injection::injection),
        ("secrets", secrets::secrets),
        ("memory", memory::memory),
    ];
    kinds
        .into_iter()
        .map(|(name, kind)| {
            let began = Instant::now();
            let row = kind(&Stage { programs, seed }, size);
            Row { name, seconds: began.elapsed().as_secs_f64(), ..row }
        })
        .collect()
}

/// The rows as text, with the reasons of lost cases below.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text =
        format!("{:16} {:>7} {:>9} {:>6} {:>8}\n", "kind", "tried", "survived", "lost", "seconds");
    let mut line = |name: &str, tried: usize, lost: usize, seconds: f64, note: &str| {
        let survived = tried - lost;
        writeln!(text, "{name:16} {tried:>7} {survived:>9} {lost:>6} {seconds:>8.1}  {note}")
            .expect("writing to a string");
    };
    for row in rows {
        line(row.name, row.tried, row.lost.len(), row.seconds, &row.note);
    }
    let sum = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
    let seconds = rows.iter().map(|row| row.seconds).sum();
    line("in all", sum(|row| row.tried), sum(|row| row.lost.len()), seconds, "");
    for row in rows {
        for reason in row.lost.iter().take(10) {
            writeln!(text, "lost: {}: {reason}", row.name).expect("writing to a string");
        }
    }
    text
}
