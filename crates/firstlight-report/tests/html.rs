//! The page: every process and call is in it, and what others wrote is text.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hostile;
mod made;

use std::collections::{BTreeMap, BTreeSet};

use firstlight_report::html::page;
use firstlight_report::markdown::markdown;
use firstlight_report::model::{Drawn, Model};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::machine::Machine;
use firstlight_schema::reading::Streams;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Scalar;

use hostile::Free;
use made::{run, swept};

/// A run with an invalid process in every regime, and something written wherever it can be.
fn troubled() -> RunDocument {
    let mut document = run();
    document.machine = Machine {
        cpu: Some("a processor".to_owned()),
        kernel: Some("6.1".to_owned()),
        ..document.machine
    };
    document.environment.packages = BTreeMap::from([("jax".to_owned(), "0.10".to_owned())]);
    document.cases[0].parameters.insert("text".to_owned(), Scalar::Text("some".to_owned()));
    for regime in document.cases[0].arms.iter_mut().flat_map(|arm| &mut arm.regimes) {
        if let Some(sample) = regime.samples.last_mut() {
            sample.valid = false;
            sample.reasons.push(Reason::new(Finding::ProcessFailed, "it failed"));
            sample.raw.streams = Streams {
                stdout_tail: "out".to_owned(),
                stderr_tail: "err".to_owned(),
                ..Streams::default()
            };
        }
    }
    document
}

/// With the first and the last sample of each regime: what is written where does not depend on more.
fn shortened(mut document: RunDocument) -> RunDocument {
    for regime in document.cases[0].arms.iter_mut().flat_map(|arm| &mut arm.regimes) {
        if let Some(last) = regime.samples.len().checked_sub(1) {
            regime.samples.drain(1..last);
        }
    }
    document
}

/// The pictures of a class, with all that is in them.
fn charts<'a>(page: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<svg class=\"chart {class}");
    page.match_indices(&start).map(|(from, _)| &page[from..from + length(&page[from..])]).collect()
}

/// How long a picture is that may hold others.
fn length(picture: &str) -> usize {
    let mut depth = 0;
    let mut ends = picture.match_indices("svg").filter_map(|(at, _)| {
        let before = &picture[..at];
        match (before.ends_with("</"), before.ends_with('<')) {
            (true, _) => depth -= 1,
            (false, true) => depth += 1,
            (false, false) => return None,
        }
        (depth == 0).then_some(at + "svg>".len())
    });
    ends.next().unwrap()
}

/// The names of all tags, in order.
fn tags(page: &str) -> Vec<String> {
    let body = &page[page.find("<body>").unwrap()..page.find("<script>").unwrap()];
    let mut names = Vec::new();
    let mut rest = body;
    while let Some(from) = rest.find('<') {
        rest = &rest[from + 1..];
        let name = |c: char| c.is_ascii_alphanumeric() || c == '/';
        names.push(rest.chars().take_while(|&c| name(c)).collect());
        rest = &rest[end(rest)..];
    }
    names
}

/// The end of a tag: the first `>` outside of quotes.
fn end(tag: &str) -> usize {
    let mut quoted = false;
    tag.char_indices()
        .find(|&(_, c)| {
            quoted ^= c == '"';
            c == '>' && !quoted
        })
        .unwrap()
        .0
}

#[test]
fn every_process_is_a_point_and_the_invalid_ones_are_crosses() {
    let document = troubled();
    let model = Model::new(&document);
    let page = page(&document);
    let arms: Vec<_> = model.cases[0].points.iter().flat_map(|(_, arms)| arms).collect();
    let charts = charts(&page, "points");
    assert_eq!(charts.len(), arms.len());
    for (chart, of) in charts.iter().zip(arms) {
        assert_eq!(of.points.len(), 7);
        assert_eq!(chart.matches("class=\"point\"").count(), 6);
        assert_eq!(chart.matches("class=\"cross\"").count(), 1);
    }
}

#[test]
fn every_call_of_a_short_series_is_drawn() {
    let document = run();
    let model = Model::new(&document);
    let page = page(&document);
    let processes: Vec<_> = model.cases[0].warm.iter().flat_map(|arm| &arm.processes).collect();
    let charts = charts(&page, "beside series");
    assert_eq!(charts.len(), processes.len());
    for (chart, of) in charts.iter().zip(processes) {
        let Drawn::Calls(calls) = &of.drawn else { panic!("a short series") };
        assert_eq!(calls.len(), 120);
        assert_eq!(chart.matches("h0").count(), 120);
        assert!(chart.contains("data-points=\"120\""));
    }
    assert_eq!(page.matches("data-calls=\"840\"").count(), 2, "all calls of seven processes");
}

#[test]
fn the_distribution_of_calls_ends_at_all_of_them() {
    let document = run();
    let calls = Model::new(&document).cases.remove(0).calls.unwrap();
    for (arm, n, counts) in calls.arms {
        assert!(counts.is_sorted(), "{arm}");
        assert_eq!((n, counts.last()), (840, Some(&840)));
    }
}

#[test]
fn the_phases_of_a_bar_reach_as_far_as_their_ledger() {
    let document = run();
    let page = page(&document);
    let model = Model::new(&document);
    let bars = charts(&page, "ledger");
    assert_eq!(bars.len(), model.cases[0].ledgers.len());
    for (bar, of) in bars.iter().zip(&model.cases[0].ledgers) {
        assert_eq!(bar.matches("<rect").count(), of.phases.len());
    }
}

#[test]
fn whatever_others_write_stays_text() {
    let free = Free::new(&shortened(troubled()));
    let expected = tags(&page(&free.with("harmless")));
    assert!(expected.len() > 1_000);
    let long = "very-long-".repeat(500);
    for text in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "]]></svg></style></title><script>alert(1)</script>",
        "--><!-- <!DOCTYPE html>",
        "&lt;b&gt; &amp; &#x3c;script&#x3e;",
        "{{constructor}} ${alert(1)} javascript:alert(1)",
        "مرحبا \u{202e}gnirts desrever\u{202c}",
        "\u{0}\u{1b}[31mred\u{1b}[0m\r\n",
        &long,
    ] {
        let page = page(&free.with(text));
        assert_eq!(tags(&page), expected, "{text}");
        assert_eq!(page.matches("<script").count(), 1, "{text}");
        assert!(!page.contains("<img"), "{text}");
    }
}

#[test]
fn empty_names_make_a_page_too() {
    let page = page(&Free::new(&shortened(troubled())).with(""));
    assert!(page.contains("<h1><bdi>(no name)</bdi></h1>"));
}

#[test]
fn nothing_is_fetched_and_only_our_own_script_may_run() {
    let page = page(&run());
    for outside in ["http:", "https:", "url(", "@import", " src=", "<link", "<img", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for inline in [" style=\"", " onclick", " onload", " onerror", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
    assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
    assert!(!page.contains("unsafe-inline"));
}

#[test]
fn every_name_that_is_referred_to_is_there_once() {
    for document in [troubled(), swept()] {
        let page = page(&document);
        let values = |attribute: &str| -> Vec<String> {
            page.split(&format!(" {attribute}=\""))
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned())
                .collect()
        };
        let ids = values("id");
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        let targets = values("href").into_iter().map(|to| to.trim_start_matches('#').to_owned());
        for id in targets.chain(values("aria-labelledby")).chain(values("aria-describedby")) {
            assert!(unique.contains(&id), "{id}");
        }
    }
}

#[test]
fn a_run_without_anything_is_a_page() {
    let mut document = run();
    document.cases.clear();
    document.complete = false;
    let page = page(&document);
    assert!(page.contains("Nothing was compared"));
    assert!(page.contains("did not take all the samples"));
}

#[test]
fn a_point_chart_as_svg() {
    let page = page(&run());
    insta::assert_snapshot!(charts(&page, "points")[0].replace("><", ">\n<"));
}

#[test]
fn a_forest_row_and_a_break_even_as_svg() {
    let page = page(&run());
    let pictures = [charts(&page, "forest")[0], charts(&page, "beside break-even")[0]].join("\n");
    insta::assert_snapshot!(pictures.replace("><", ">\n<"));
}

#[test]
fn a_sweep_has_a_point_for_each_value_and_a_line() {
    let page = page(&swept());
    let charts = charts(&page, "beside sweep");
    assert_eq!(charts.len(), 1);
    assert_eq!(charts[0].matches("class=\"point\"").count(), 3);
    assert!(charts[0].contains("class=\"fitted\" d=\"M"));
}

#[test]
fn the_markdown_of_a_suite() {
    insta::assert_snapshot!(markdown(&run()));
}

#[test]
fn the_markdown_of_hostile_names_has_as_many_cells_and_lines() {
    let free = Free::new(&shortened(run()));
    let shape = |text: &str| -> Vec<usize> {
        markdown(&free.with(text)).lines().map(|line| line.matches(" | ").count()).collect()
    };
    for text in ["a | b", "<img src=x>\n\n# heading", "`x` **y** [z](https://example.org) @all"] {
        assert_eq!(shape(text), shape("harmless"), "{text}");
    }
}
