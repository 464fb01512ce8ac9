//! One case over time: the snapshots that belong together, and the reasons why a line ends.

use firstlight_schema::site::{CaseFigures, Figure, Published};
use firstlight_schema::suite::Regime;

use super::{Site, machine, when};
use crate::svg::{Break, Line, Moment};
use crate::words::format::duration;
use crate::words::row::interval;

/// A snapshot that has the case.
pub(super) struct Entry<'a> {
    /// Its index among all snapshots.
    pub(super) place: usize,
    pub(super) snapshot: &'a Published,
    pub(super) case: &'a CaseFigures,
    /// Its machine, numbered in order of appearance.
    pub(super) machine: usize,
    /// The changes since the previous snapshot on the same machine: a word, and a sentence.
    pub(super) changes: Vec<(&'static str, String)>,
    /// The part of the machine's history.
    pub(super) part: usize,
}

pub(super) struct Timeline<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    /// The first snapshot of each machine.
    pub(super) machines: Vec<&'a Published>,
    /// In order of appearance.
    pub(super) arms: Vec<&'a str>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(all: &Site<'a>, suite: &str, name: &str) -> Self {
        let mut timeline = Self { entries: Vec::new(), machines: Vec::new(), arms: Vec::new() };
        for (place, snapshot) in all.snapshots.iter().enumerate() {
            if let Some(case) = snapshot.case(name).filter(|_| snapshot.suite == suite) {
                timeline.add(place, snapshot, case);
            }
        }
        timeline
    }

    fn add(&mut self, place: usize, snapshot: &'a Published, case: &'a CaseFigures) {
        for figure in &case.figures {
            if !self.arms.contains(&&*figure.arm) {
                self.arms.push(&figure.arm);
            }
        }
        let known = self.machines.iter().position(|first| first.is_beside(snapshot));
        let machine = known.unwrap_or(self.machines.len());
        let before = self.entries.iter().rev().find(|entry| entry.machine == machine);
        let changes = match before {
            Some(before) => changes(before.snapshot, snapshot),
            None if self.machines.is_empty() => Vec::new(),
            None => vec![("machine", format!("another machine: {}", self::machine(snapshot)))],
        };
        let part = before.map_or(0, |before| before.part + usize::from(!changes.is_empty()));
        if known.is_none() {
            self.machines.push(snapshot);
        }
        self.entries.push(Entry { place, snapshot, case, machine, changes, part });
    }

    /// Lines of one regime, each within one machine and one part of its history.
    pub(super) fn lines(&self, regime: Regime) -> Vec<Line<'a>> {
        let mut found: Vec<((&str, usize, usize), Line<'a>)> = Vec::new();
        for entry in &self.entries {
            for figure in entry.case.figures.iter().filter(|figure| figure.regime == regime) {
                let Some(estimate) = figure.estimate else { continue };
                let arm = figure.arm.as_str();
                let key = (arm, entry.machine, entry.part);
                let moment =
                    Moment { at: entry.snapshot.at, estimate, title: tooltip(entry, figure) };
                let known = found.iter_mut().rev().find(|(known, _)| *known == key);
                if let Some((_, line)) = known {
                    line.moments.push(moment);
                    continue;
                }
                let is_elsewhere = entry.machine > 0;
                found.push((key, Line { arm, is_elsewhere, moments: vec![moment] }));
            }
        }
        found.into_iter().map(|(_, line)| line).collect()
    }

    /// Each halfway between the snapshot after it and the one before.
    pub(super) fn breaks(&self) -> Vec<Break> {
        let pairs = self.entries.windows(2).filter(|pair| !pair[1].changes.is_empty());
        pairs
            .map(|pair| {
                let (before, after) = (&pair[0], &pair[1]);
                let words: Vec<&str> = after.changes.iter().map(|(word, _)| *word).collect();
                Break {
                    at: f64::midpoint(before.snapshot.at, after.snapshot.at),
                    label: words.join(", "),
                    why: format!("{}: {}", when(after.snapshot), why(&after.changes)),
                }
            })
            .collect()
    }

    pub(super) fn days(&self) -> Vec<(f64, String)> {
        let day = |one: &Published| one.created.chars().take(10).collect();
        self.entries.iter().map(|entry| (entry.snapshot.at, day(entry.snapshot))).collect()
    }
}

pub(super) fn why(changes: &[(&'static str, String)]) -> String {
    changes.iter().map(|(_, why)| why.as_str()).collect::<Vec<_>>().join("; ")
}

/// Changes on one machine that make two snapshots different measurements.
pub(super) fn changes(before: &Published, after: &Published) -> Vec<(&'static str, String)> {
    let short = |digest: &str| digest.chars().take(19).collect::<String>();
    let mut found = Vec::new();
    if before.harness != after.harness {
        found
            .push(("firstlight", format!("firstlight {}, then {}", before.harness, after.harness)));
    }
    if before.suite_digest != after.suite_digest {
        let (a, b) = (short(&before.suite_digest), short(&after.suite_digest));
        found.push(("suite", format!("the suite's files: {a}, then {b}")));
    }
    found
}

fn tooltip(entry: &Entry<'_>, figure: &Figure) -> String {
    let time = figure.estimate.map_or_else(String::new, |estimate| {
        format!("{} ({})", duration(estimate.point), interval(&estimate))
    });
    format!("{} on {}, machine {}: {time}", figure.arm, when(entry.snapshot), entry.machine + 1)
}
