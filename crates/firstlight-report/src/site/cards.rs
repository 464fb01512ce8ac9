//! The newest result of every suite on every machine: its headline, and the history of its times.

use std::collections::BTreeSet;

use firstlight_schema::comparison::Verdict;
use firstlight_schema::site::{CaseFigures, Published, Step};
use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::{Site, links, machine, when};
use crate::html::name;
use crate::html::verdicts::badge_of;
use crate::svg::{SparkPoint, arm_class, spark};
use crate::words::format::{count, duration};
use crate::words::machine::cpu;
use crate::words::row::interval;
use crate::words::slug::unique;

/// Older suites and machines are in the table.
const MOST: usize = 40;
/// The number of snapshots in a sparkline.
const MOMENTS: usize = 24;

/// The snapshots of one suite on one machine, by their index in time.
pub(super) struct Card {
    places: Vec<usize>,
}

/// The newest snapshot compared with the previous one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Slower,
    Faster,
    Unchanged,
    First,
}

impl Standing {
    pub(super) const ALL: [Self; 4] = [Self::Slower, Self::Faster, Self::Unchanged, Self::First];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Unchanged => "no change",
            Self::First => "no comparison",
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Slower => "v-slower",
            Self::Faster => "v-faster",
            Self::Unchanged => "v-equivalent",
            Self::First => "v-inconclusive",
        }
    }
}

/// All cards, the newest first.
pub(super) fn cards(site: &Site<'_>) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    for (place, one) in site.snapshots.iter().enumerate() {
        let same = |card: &&mut Card| {
            let last = &site.snapshots[card.newest()];
            last.suite == one.suite && last.is_beside(one)
        };
        match cards.iter_mut().find(same) {
            Some(card) => card.places.push(place),
            None => cards.push(Card { places: vec![place] }),
        }
    }
    cards.sort_by_key(|card| std::cmp::Reverse(card.newest()));
    cards
}

impl Card {
    fn newest(&self) -> usize {
        *self.places.last().expect("a card begins with a snapshot")
    }

    pub(super) fn snapshot<'a>(&self, site: &Site<'a>) -> &'a Published {
        &site.snapshots[self.newest()]
    }

    /// Every figure of the newest snapshot against the previous one.
    pub(super) fn steps<'a>(&self, site: &Site<'a>) -> impl Iterator<Item = &'a Step> {
        let after = self.newest();
        let begin = site.begins.get(&after).copied().unwrap_or(site.steps.len());
        site.steps[begin..].iter().take_while(move |step| step.after == after)
    }

    /// The representative case of the card, with the newest snapshot that has it: preferably with an answer,
    /// then with the longest history.
    fn newest_answer<'a>(&self, site: &Site<'a>) -> (&'a Published, Option<&'a CaseFigures>) {
        let snapshots = || self.places.iter().rev().map(|place| &site.snapshots[*place]);
        let history = |name: &str| snapshots().filter(|one| one.case(name).is_some()).count();
        let is_answer =
            |case: &CaseFigures| !case.headline.is_empty() && !case.headline.starts_with("no ");
        let all = snapshots().flat_map(|one| one.cases.iter().map(move |case| (one, case)));
        // Of equal cases, the newest is first.
        let mut best: Option<((bool, usize), &'a Published, &'a CaseFigures)> = None;
        for (one, case) in all {
            let worth = (is_answer(case), history(&case.name));
            if best.is_none_or(|(known, ..)| worth > known) {
                best = Some((worth, one, case));
            }
        }
        best.map_or_else(|| (self.snapshot(site), None), |(_, one, case)| (one, Some(case)))
    }

    fn standing(&self, site: &Site<'_>) -> Standing {
        let verdicts: Vec<Verdict> = self.steps(site).map(|step| step.comparison.verdict).collect();
        match verdicts {
            all if all.is_empty() => Standing::First,
            all if all.contains(&Verdict::Slower) => Standing::Slower,
            all if all.contains(&Verdict::Faster) => Standing::Faster,
            _ => Standing::Unchanged,
        }
    }

    pub(super) fn arms<'a>(&self, site: &Site<'a>) -> BTreeSet<&'a str> {
        let figures = self.snapshot(site).cases.iter().flat_map(|case| &case.figures);
        figures.map(|figure| figure.arm.as_str()).collect()
    }
}

/// All cards, with the attributes for filters.
pub(super) fn tiles(site: &Site<'_>, all: &[Card]) -> Markup {
    let shown = &all[..all.len().min(MOST)];
    let names = shown.iter().map(|card| {
        let one = card.snapshot(site);
        format!("{}-{}", one.suite, short_machine(one))
    });
    html! {
        div class="tiles" {
            @for (card, anchor) in shown.iter().zip(unique(names)) { (tile(site, card, &anchor)) }
        }
        @if all.len() > shown.len() {
            p class="note" {
                (count((all.len() - shown.len()) as u64, "older combination")) " of suite and machine: "
                a href=(links::TABLE) { "see the table" } "."
            }
        }
    }
}

/// `H200` or `2-core AMD EPYC`: a short name that distinguishes machines.
pub(super) fn short_machine(snapshot: &Published) -> String {
    if let Some(gpu) = &snapshot.gpu {
        return gpu.split(" (").next().unwrap_or(gpu).to_owned();
    }
    let cpu = cpu(&snapshot.machine);
    let cpu = cpu.split(" CPU").next().unwrap_or(&cpu);
    let cpu = cpu.split(" Processor").next().unwrap_or(cpu).trim();
    snapshot.machine.cores.map_or_else(|| cpu.to_owned(), |cores| format!("{cores}-core {cpu}"))
}

fn tile(site: &Site<'_>, card: &Card, anchor: &str) -> Markup {
    let one = card.snapshot(site);
    let standing = card.standing(site);
    let arms: Vec<&str> = card.arms(site).into_iter().collect();
    let page = |one: &Published| links::snapshot_path(&one.id);
    let (shown, answer) = card.newest_answer(site);
    html! {
        article class="tile" id=(anchor) data-suite=(one.suite) data-arms=(arms.join("\n"))
            data-machine=(machine(one)) data-gpu=(one.gpu.as_deref().unwrap_or("none"))
            data-date=(one.created.get(..10).unwrap_or_default()) data-verdict=(standing.name()) {
            h3 { a href=(page(shown)) { (name(&one.suite)) } span class="about" { (short_machine(one)) } }
            @if let Some(case) = answer {
                p class="headline" { (name(&case.name)) ": " bdi { (case.headline) } }
                (sparkline(site, card, case, anchor))
            }
            p class="soft" {
                (badge_of(standing.class(), standing.name())) " "
                a href=(page(one)) { (name(&one.name)) } ", " (when(one)) ", "
                (count(card.places.len() as u64, "snapshot"))
            }
            details {
                summary { (count(one.cases.len() as u64, "case")) }
                ul {
                    @for case in &one.cases {
                        li {
                            a href=(links::case_path(&one.suite, &case.name)) { (name(&case.name)) }
                            @if !case.headline.is_empty() { ": " bdi { (case.headline) } }
                        }
                    }
                }
            }
        }
    }
}

/// The times of the first case in the regime with the most calls.
fn sparkline(site: &Site<'_>, card: &Card, case: &CaseFigures, anchor: &str) -> Markup {
    let regimes = [Regime::Warm, Regime::ColdClean, Regime::ColdPrimed, Regime::Fresh];
    let has = |regime: Regime| {
        case.figures.iter().any(|figure| figure.regime == regime && figure.estimate.is_some())
    };
    let Some(regime) = regimes.into_iter().find(|regime| has(*regime)) else { return html! {} };
    let places: Vec<usize> = card
        .places
        .iter()
        .copied()
        // A case with other parameters is another measurement.
        .filter(|place| {
            let known = site.snapshots[*place].case(&case.name);
            known.is_some_and(|known| known.parameters == case.parameters)
        })
        .collect();
    let places = &places[places.len().saturating_sub(MOMENTS)..];
    let looks = site.cast(&card.snapshot(site).suite);
    let mut arms: Vec<&str> = Vec::new();
    for figure in case.figures.iter().filter(|figure| figure.regime == regime) {
        if !arms.contains(&figure.arm.as_str()) {
            arms.push(&figure.arm);
        }
    }
    let lines: Vec<(&str, Vec<SparkPoint>)> = arms
        .iter()
        .map(|arm| {
            let points = places.iter().enumerate().filter_map(|(slot, place)| {
                let snapshot = &site.snapshots[*place];
                let figures = &snapshot.case(&case.name)?.figures;
                let same = |one: &&firstlight_schema::site::Figure| {
                    one.arm == *arm && one.regime == regime
                };
                let estimate = figures.iter().find(same)?.estimate?;
                let (time, ends) = (duration(estimate.point), interval(&estimate));
                let title = format!("{arm}, {}: {time} ({ends})", when(snapshot));
                Some(SparkPoint { slot, estimate, title })
            });
            (*arm, points.collect())
        })
        .collect();
    let what = super::case::what(regime);
    let title = format!("{} of {}, {} snapshots", what, case.name, places.len());
    let id = format!("{anchor}-spark");
    html! {
        @if let Some(picture) = spark(&id, &title, &lines, places.len(), &looks) {
            figure {
                (picture)
                figcaption class="soft" {
                    (what) ": "
                    @for (index, arm) in arms.iter().enumerate() {
                        @if index > 0 { ", " }
                        span class={ "named " (arm_class(&looks, arm)) } { (name(arm)) }
                    }
                }
            }
        }
    }
}
