//! The page: foreign text is escaped, nothing is loaded, every reference has a target.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hostile;
mod made;

use std::collections::{BTreeMap, BTreeSet};

use firstlight_report::html::{Around, page};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::machine::Machine;
use firstlight_schema::reading::Streams;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Scalar;

use hostile::Free;
use made::{run, swept};

/// A run with an invalid process in every regime, and text wherever possible.
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
fn foreign_text_stays_text() {
    let free = Free::new(troubled());
    let expected = tags(&page(&free.with("harmless"), Around::default()));
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
        let page = page(&free.with(text), Around::default());
        assert_eq!(tags(&page), expected, "{text}");
        assert_eq!(page.matches("<script").count(), 1, "{text}");
        assert!(!page.contains("<img"), "{text}");
    }
}

#[test]
fn empty_names_give_a_valid_page() {
    let page = page(&Free::new(troubled()).with(""), Around::default());
    assert!(page.contains("<h1><bdi>(no name)</bdi></h1>"));
}

#[test]
fn nothing_is_loaded_and_only_our_own_script_may_run() {
    let page = page(&run(), Around::default());
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
fn every_referenced_name_exists_once() {
    for document in [troubled(), swept()] {
        let page = page(&document, Around::default());
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
fn an_empty_run_has_a_page() {
    let mut document = run();
    document.cases.clear();
    document.complete = false;
    let page = page(&document, Around::default());
    assert!(page.contains("Nothing was compared"));
    assert!(page.contains("ended before all requested samples"));
}
