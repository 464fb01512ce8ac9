//! Pages over many snapshots: the index, and every case with its history. A rejected snapshot appears with
//! its reason and without numbers.

mod cards;
mod case;
mod compare;
mod index;
mod links;
mod table;
mod timeline;

use std::collections::HashMap;

use firstlight_plot::palette::Cast;
use firstlight_schema::comparison::Verdict;
use firstlight_schema::site::{Figure, Published, Step};
use maud::{Markup, html};

use crate::html::table::Cell;
use crate::html::{STYLE, frame_with};
use crate::words::format::duration;
use crate::words::machine::cpu;
use crate::words::row::interval;

pub use links::{COMPARE, HOME, INDEX, TABLE, case_path, snapshot_path};

const SCRIPT: &str = include_str!("site.js");

/// A site's snapshots sorted by time, and each compared with the previous one.
pub struct Site<'a> {
    snapshots: &'a [Published],
    steps: &'a [Step],
    /// The first step of each snapshot: steps are sorted by their later snapshot.
    begins: HashMap<usize, usize>,
    /// Names and reasons.
    refused: Vec<(&'a str, &'a str)>,
    version: &'a str,
}

impl<'a> Site<'a> {
    pub fn new(
        snapshots: &'a [Published],
        steps: &'a [Step],
        refused: Vec<(&'a str, &'a str)>,
        version: &'a str,
    ) -> Self {
        let mut begins = HashMap::new();
        for (place, step) in steps.iter().enumerate() {
            begins.entry(step.after).or_insert(place);
        }
        Self { snapshots, steps, begins, refused, version }
    }

    /// Suites and their cases, sorted by name.
    pub fn cases(&self) -> Vec<(&'a str, &'a str)> {
        let select = |one: &'a Published| one.cases.iter().map(|case| (&*one.suite, &*case.name));
        let mut cases: Vec<_> = self.snapshots.iter().flat_map(select).collect();
        cases.sort_unstable();
        cases.dedup();
        cases
    }

    /// The looks of a suite's arms, on the pages of all its cases.
    fn cast(&self, suite: &str) -> Cast {
        let of_suite = self.snapshots.iter().filter(|one| one.suite == suite);
        let figures = of_suite.flat_map(|one| &one.cases).flat_map(|case| &case.figures);
        Cast::new(figures.map(|figure| figure.arm.as_str()))
    }

    /// Figures that became slower, the newest first.
    pub fn regressions(&self) -> impl Iterator<Item = &'a Step> {
        self.steps.iter().rev().filter(|step| step.comparison.verdict == Verdict::Slower)
    }

    pub fn index(&self) -> String {
        index::page(self)
    }

    /// Every result and every snapshot in rows.
    pub fn table(&self) -> String {
        table::page(self)
    }

    /// Two snapshots compared.
    pub fn compare(&self) -> String {
        compare::page(self)
    }

    /// The history of one case.
    pub fn case(&self, suite: &str, case: &str) -> String {
        case::page(self, suite, case)
    }

    /// The comparison of a figure with the previous one.
    fn step(&self, after: usize, case: &str, figure: &Figure) -> Option<&'a Step> {
        let begin = *self.begins.get(&after)?;
        let select = |step: &&Step| {
            let said = &step.comparison;
            said.case == case && said.arm == figure.arm && said.regime == figure.regime
        };
        self.steps[begin..].iter().take_while(|step| step.after == after).find(select)
    }

    fn footer(&self) -> Markup {
        html! {
            footer {
                "Made by firstlight " (self.version)
                ". Every number on this site was recomputed from the raw readings of its snapshot."
            }
        }
    }
}

/// A machine as text.
fn machine(snapshot: &Published) -> String {
    let unknown = || "unknown".to_owned();
    let gpu = snapshot.gpu.as_ref().map_or_else(String::new, |gpu| format!("{gpu}, "));
    format!(
        "{gpu}{}, {} cores, Linux {}",
        cpu(&snapshot.machine),
        snapshot.machine.cores.map_or_else(unknown, |cores| cores.to_string()),
        snapshot.machine.kernel.clone().unwrap_or_else(unknown),
    )
}

/// A page of the site, with the script that filters and compares.
fn framed(title: &str, body: &Markup) -> String {
    frame_with(title, body, &STYLE, &[SCRIPT])
}

/// A figure's time and its interval, or the reason why it has none.
fn time(one: &Figure) -> [Cell; 2] {
    let missing = if one.times.is_empty() { "invalid" } else { "not steady" };
    [
        Cell::Number(
            one.estimate.map_or_else(|| missing.to_owned(), |one| duration(one.point)),
            one.estimate.map(|one| one.point),
        ),
        Cell::text(&one.estimate.as_ref().map_or_else(String::new, interval)),
    ]
}

/// Date and minute.
fn when(snapshot: &Published) -> String {
    snapshot.created.chars().take(16).collect::<String>().replace('T', " ")
}
