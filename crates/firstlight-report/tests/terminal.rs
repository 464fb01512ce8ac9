//! Goldens of the terminal's text: complete without colour, at every width.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;

use firstlight_analysis::control::price;
use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::notices::notices;
use firstlight_analysis::summary::summarise;
use firstlight_report::terminal::{Report, Terminal};
use firstlight_schema::cache::Policy;
use firstlight_schema::cold::ColdDocument;
use firstlight_schema::machine::Machine;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::version::Build;

use made::{MS, policy, raw, run, samples, swept};

fn cold() -> ColdDocument {
    let mut samples = samples(Policy::Clean, "miss");
    let conditions =
        Conditions { policy: policy(Policy::Clean), any_exit_code: false, job: Job::Command };
    samples.push(examine(raw(8, 0, "hit"), conditions));
    let controls = (1..=7).map(|n| raw(n, u64::from(n * n * 4 - 3), "miss")).collect();
    ColdDocument {
        schema: ColdDocument::schema_id(),
        firstlight: Build::new("0.1.0", None),
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        command: ["python", "train.py", "--epochs", "1"].map(str::to_owned).to_vec(),
        program: "/usr/bin/python3".to_owned(),
        machine: Machine { cpu: None, cores: Some(2), memory_bytes: None, kernel: None },
        policy: policy(Policy::Clean),
        timeout_ns: Nanos(600_000 * MS),
        seed: 1,
        complete: true,
        invalid_summary: None,
        diagnosis: firstlight_analysis::diagnosis::diagnose(&samples),
        summary: summarise(&samples),
        control: Some(price(&samples, controls)),
        notices: notices(&samples),
        priming: Vec::new(),
        samples,
    }
}

/// Colours are escape sequences; the text without them must say it all.
fn plain(text: &str) -> String {
    let mut escaped = false;
    text.chars()
        .filter(|&c| {
            let was = escaped;
            escaped = (escaped && c != 'm') || c == '\u{1b}';
            !was && !escaped
        })
        .collect()
}

#[test]
fn a_cold_document_at_the_usual_width() {
    insta::assert_snapshot!(plain(&Terminal::new(100).cold(&cold())));
}

#[test]
fn a_cold_document_in_a_small_terminal() {
    insta::assert_snapshot!(plain(&Terminal::new(40).cold(&cold())));
}

#[test]
fn a_suite_with_verdicts_break_evens_and_a_broken_arm() {
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&run(), Report::Usual)));
}

#[test]
fn a_suite_in_a_small_terminal() {
    insta::assert_snapshot!(plain(&Terminal::new(50).run(&run(), Report::Usual)));
}

#[test]
fn the_minimum_report_of_a_suite() {
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&run(), Report::Minimum)));
}

#[test]
fn the_full_report_of_a_suite() {
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&run(), Report::Full)));
}

#[test]
fn a_sweep_is_a_table_a_line_and_a_plot() {
    let text = plain(&Terminal::new(100).run(&swept(), Report::Usual));
    insta::assert_snapshot!(&text[text.find("mlp over width").unwrap()..]);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [40, 57, 80, 110] {
        let terminal = Terminal::new(width);
        let mut texts = vec![terminal.cold(&cold())];
        for report in [Report::Minimum, Report::Usual, Report::Full] {
            texts.extend([terminal.run(&run(), report), terminal.run(&swept(), report)]);
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            let line = plain(line);
            assert!(line.chars().count() <= width, "{width}: `{line}`");
        }
    }
}
