//! Two snapshots compared: the newest of each suite against the previous one, and any two in a browser with
//! scripts. Relevant changes come first; the rest is hidden.

use firstlight_schema::comparison::Verdict;
use firstlight_schema::site::{Figure, Published, Step};
use maud::{Markup, PreEscaped, html};
use serde_json::json;

use super::cards::{cards, short_machine};
use super::index::{case_link, snapshot_link};
use super::{Site, links, when};
use crate::html::table::{Cell, Head, Order, table};
use crate::html::verdicts::badge;
use crate::html::{glossary, name};
use crate::words::format::count;
use crate::words::slug::unique;

const HEADS: [Head<'static>; 5] = [
    Head::Text("case"),
    Head::Text("arm"),
    Head::Text("regime"),
    Head::Number("change, 95 % interval"),
    Head::Text("verdict"),
];

pub(super) fn page(site: &Site<'_>) -> String {
    let body = html! {
        header {
            h1 { "Compare two snapshots" }
            p class="soft" { "Changes of the time, in per cent: a minus sign means faster." }
        }
        nav aria-label="Contents" {
            ul {
                li { a href=(links::INDEX) { "Results" } }
                li { a href="#newest" { "Newest against previous" } }
                li { a href=(links::TABLE) { "Table of everything" } }
                li { a href="#glossary" { "Glossary" } }
            }
        }
        main id="main" {
            (chooser())
            (newest(site))
            (glossary::glossary())
        }
        (site.footer())
        script type="application/json" id="figures" { (PreEscaped(figures(site))) }
    };
    super::framed("Compare two snapshots", &body)
}

/// Hidden until the script fills it.
fn chooser() -> Markup {
    html! {
        section id="chooser" aria-labelledby="choose" hidden {
            h2 id="choose" { "Any two snapshots" }
            form class="filter" {
                label { "Before" select name="before" {} }
                label { "After" select name="after" {} }
                label class="check" { input type="checkbox" name="all"; "Show insignificant changes" }
            }
            p id="summary" role="status" {}
            div class="scroll changes" role="group" aria-label="Changes between the two snapshots" tabindex="0" {
                table class="wide" {
                    caption { "Changes between the two snapshots, the largest first" }
                    thead { tr {
                        th scope="col" { "case" } th scope="col" { "arm" } th scope="col" { "regime" }
                        th scope="col" class="n" { "before" } th scope="col" class="n" { "after" }
                        th scope="col" class="n" { "change, 95 % interval" } th scope="col" { "verdict" }
                    } }
                    tbody id="changes" {}
                }
            }
            p class="note" {
                "Intervals are Welch's, on logarithms of the times of processes. The two snapshots were not interleaved, so everything that changed between them is part of the change."
            }
        }
    }
}

fn newest(site: &Site<'_>) -> Markup {
    let cards = cards(site);
    let with_steps: Vec<_> =
        cards.iter().filter(|card| card.steps(site).next().is_some()).collect();
    let names = with_steps.iter().map(|card| {
        let one = card.snapshot(site);
        format!("changes-{}-{}", one.suite, short_machine(one))
    });
    let anchors = unique(names);
    html! {
        section aria-labelledby="newest" {
            h2 id="newest" { "Newest against previous" }
            @if with_steps.is_empty() {
                p { "No suite has two snapshots on the same machine yet." }
            }
            @for (card, anchor) in with_steps.iter().zip(&anchors) {
                (of_card(site, card.snapshot(site), card.steps(site).collect(), anchor))
            }
        }
    }
}

fn of_card(site: &Site<'_>, after: &Published, steps: Vec<&Step>, anchor: &str) -> Markup {
    let before = steps.first().map(|step| &site.snapshots[step.before]);
    let is_relevant =
        |step: &&Step| matches!(step.comparison.verdict, Verdict::Faster | Verdict::Slower);
    let (mut relevant, rest): (Vec<&Step>, Vec<&Step>) = steps.into_iter().partition(is_relevant);
    let extent = |step: &Step| step.comparison.ratio.map_or(0.0, |ratio| ratio.point.ln().abs());
    relevant.sort_by(|a, b| extent(b).total_cmp(&extent(a)));
    let rows = |all: &[&Step]| all.iter().map(|step| row(after, step)).collect::<Vec<_>>();
    let (one, on) = (&after.suite, short_machine(after));
    html! {
        h3 id=(anchor) {
            (name(one)) span class="about" { (on) }
        }
        p {
            (snapshot_link(after))
            @if let Some(before) = before { " against " (snapshot_link(before)) }
            ": "
            @if relevant.is_empty() { "no relevant changes." }
            @else { (count(relevant.len() as u64, "relevant change")) "." }
        }
        @if !relevant.is_empty() {
            div class="changes" {
                (table(&format!("Relevant changes of {one} on {on}"), Order::Sortable, &HEADS, &rows(&relevant)))
            }
        }
        @if !rest.is_empty() {
            details {
                summary { (count(rest.len() as u64, "insignificant change")) }
                div class="changes" {
                    (table(&format!("Insignificant changes of {one} on {on}"), Order::Sortable, &HEADS, &rows(&rest)))
                }
            }
        }
    }
}

fn row(after: &Published, step: &Step) -> Vec<Cell> {
    let said = &step.comparison;
    let change = said.ratio.map_or_else(String::new, |ratio| {
        let ends = ratio.interval.map_or_else(String::new, |ends| {
            format!(" ({} to {})", signed_percent(ends.low), signed_percent(ends.high))
        });
        signed_percent(ratio.point) + &ends
    });
    vec![
        Cell::Text(case_link(&after.suite, &said.case)),
        Cell::Text(name(&said.arm)),
        Cell::Word(html! { (said.regime) }),
        Cell::Number(change, said.ratio.map(|ratio| ratio.point)),
        Cell::Word(badge(said)),
    ]
}

/// `+12.3 %`, `−0.4 %`: a ratio as a change of the time.
fn signed_percent(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let digits = usize::from(change.abs() < 99.95);
    let size = format!("{:.digits$} %", change.abs());
    match change {
        _ if size.starts_with("0.0 ") => "0.0 %".to_owned(),
        change if change < 0.0 => format!("−{size}"),
        _ => format!("+{size}"),
    }
}

/// Means, deviations and numbers of processes of every figure, on logarithms, for the script.
fn figures(site: &Site<'_>) -> String {
    let mut keys: Vec<(&str, &str, &str)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let mut all = Vec::new();
    for one in site.snapshots {
        let mut rows = Vec::new();
        for case in &one.cases {
            for figure in &case.figures {
                let key = (case.name.as_str(), figure.arm.as_str(), figure.regime.name());
                let place = *known.entry(key).or_insert_with(|| {
                    keys.push(key);
                    keys.len() - 1
                });
                if let Some([mean, deviation]) = logarithms(figure) {
                    rows.push(json!([place, mean, deviation, figure.times.len(), case.margin]));
                }
            }
        }
        let id: String = one.id.trim_start_matches("sha256:").chars().take(12).collect();
        all.push(json!([id, one.name, one.suite, short_machine(one), when(one), rows]));
    }
    let keys: Vec<_> = keys.iter().map(|(case, arm, regime)| json!([case, arm, regime])).collect();
    // A name could otherwise end its element.
    json!({ "keys": keys, "snapshots": all }).to_string().replace('<', "\\u003c")
}

/// `None` if the figure cannot be compared.
fn logarithms(one: &Figure) -> Option<[f64; 2]> {
    let usable = one.unfit.is_none() && one.times.len() > 1 && one.times.iter().all(|&ns| ns > 0.0);
    if !usable {
        return None;
    }
    let logs: Vec<f64> = one.times.iter().map(|ns| ns.ln()).collect();
    let n = crate::svg::real(logs.len());
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|value| (value - mean).powi(2)).sum();
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    Some([rounded(mean), rounded((squares / (n - 1.0)).sqrt())])
}

#[cfg(test)]
mod tests {
    use super::signed_percent;

    #[test]
    fn changes_carry_their_sign() {
        let shown = [1.1234, 0.9, 1.0001, 3.5].map(signed_percent);
        assert_eq!(shown, ["+12.3 %", "−10.0 %", "0.0 %", "+250 %"]);
    }
}
