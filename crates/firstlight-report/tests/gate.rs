//! Goldens of a gate: the comment, the summary, the annotations, the terminal and the JSON document.

use firstlight_report::export::{annotations, gate_comment, gate_summary};
use firstlight_report::terminal::Terminal;
use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::estimate::{Estimate, Interval, Method};
use firstlight_schema::gate::{
    BISECT, BISECT_VERSION, BisectDocument, BisectStep, Change, ChangedPlace, Decision, Found,
    GateDocument, GateRow, Results, Revision,
};
use firstlight_schema::machine::Machine;
use firstlight_schema::suite::Regime;
use firstlight_schema::version::{Build, SchemaId};

fn estimate(point: f64, spread: f64, method: Method) -> Estimate {
    let interval = Interval { low: point - spread, high: point + spread, confidence: 0.95 };
    Estimate { point, interval: Some(interval), n: 20, method }
}

fn row(case: &str, arm: &str, regime: Regime, verdict: Verdict, ratio: f64) -> GateRow {
    let decision = match verdict {
        Verdict::Slower => Decision::Failed,
        Verdict::Faster | Verdict::Equivalent => Decision::Passed,
        _ => Decision::Inconclusive,
    };
    let comparison = Comparison {
        case: format!("{case}.{arm}"),
        regime,
        arm: format!("head.{arm}"),
        against: format!("base.{arm}"),
        verdict,
        margin: 0.05,
        ratio: Some(estimate(ratio, 0.015, Method::PairedLogRatio)),
        robust: None,
        p: None,
        adjusted_p: None,
        why: None,
        needed: (verdict == Verdict::Inconclusive).then_some(64),
        rarity: None,
        nodes: None,
    };
    GateRow {
        case: case.to_owned(),
        arm: arm.to_owned(),
        regime,
        decision,
        results: Results::Same,
        base: Some(estimate(2e8, 4e6, Method::OrderStatisticMedian)),
        head: Some(estimate(2e8 * ratio, 4e6, Method::OrderStatisticMedian)),
        comparison: Some(comparison),
        why: None,
    }
}

fn revision(name: &str, digit: &str, subject: &str) -> Revision {
    let (name, subject) = (name.to_owned(), subject.to_owned());
    Revision { name, commit: digit.repeat(40), subject, uncommitted: false }
}

fn document(decision: Decision, rows: Vec<GateRow>) -> GateDocument {
    GateDocument {
        schema: GateDocument::schema_id(),
        firstlight: Build::new("0.1.0", None),
        created: "2026-11-14T08:00:00Z".to_owned(),
        subject: "benchmarks/mlp".to_owned(),
        base: revision("main", "a", "Add a layer"),
        head: revision("HEAD", "b", "Rewrite the loop for @someone"),
        decision,
        rows,
        notes: vec!["not compared: wide is only in head".to_owned()],
        control: Some(true),
        machine: Machine {
            cpu: Some("AMD EPYC".to_owned()),
            cores: Some(2),
            memory_bytes: Some(8_000_000_000),
            kernel: Some("6.18".to_owned()),
        },
        gpus: None,
        processes: 20,
        seed: 1,
        complete: true,
        run: "runs/gate".to_owned(),
        reproduce: "firstlight gate --base aaaaaaaaaa --head bbbbbbbbbb benchmarks/mlp".to_owned(),
    }
}

fn mixed() -> GateDocument {
    let mut different = row("mlp", "torch", Regime::Warm, Verdict::Invalid, 1.0);
    different.decision = Decision::Failed;
    different.results = Results::Different;
    different.why = Some("array 0 differs by 1.0e-2 of its size, 1.0e-4 is allowed".to_owned());
    let mut broken = row("mlp", "numba", Regime::Warm, Verdict::Invalid, 1.0);
    broken.decision = Decision::NotRun;
    broken.why = Some("head: exited with code 1 | `x` <b>".to_owned());
    (broken.base, broken.head, broken.comparison) = (None, None, None);
    document(
        Decision::Failed,
        vec![
            row("mlp", "jax", Regime::ColdClean, Verdict::Slower, 1.123),
            row("mlp", "numpy", Regime::ColdClean, Verdict::Equivalent, 0.998),
            row("mlp", "jax", Regime::Warm, Verdict::Faster, 0.8),
            row("mlp", "numpy", Regime::Warm, Verdict::Inconclusive, 1.045),
            different,
            broken,
        ],
    )
}

fn passed() -> GateDocument {
    document(
        Decision::Passed,
        vec![row("mlp", "numpy", Regime::ColdClean, Verdict::Equivalent, 0.998)],
    )
}

/// Without the escape sequences of the one style that is used.
fn plain(text: &str) -> String {
    text.replace("\x1b[1m", "").replace("\x1b[0m", "")
}

const URL: Option<&str> = Some("https://example.org/runs/1#artifacts");

#[test]
fn the_comment_shows_what_changed_and_folds_the_rest() {
    insta::assert_snapshot!("gate_comment_failed", gate_comment(&mixed(), URL));
    insta::assert_snapshot!("gate_comment_passed", gate_comment(&passed(), None));
}

#[test]
fn the_summary_has_every_row_and_annotations_only_those_that_need_attention() {
    insta::assert_snapshot!("gate_summary", gate_summary(&mixed(), URL));
    insta::assert_snapshot!("gate_annotations", annotations(&mixed()));
}

#[test]
fn a_link_that_is_not_a_web_address_is_left_out() {
    let comment = gate_comment(&passed(), Some("javascript:alert(1)"));
    assert!(!comment.contains("Report"), "{comment}");
    let comment = gate_comment(&passed(), Some("https://example.org/a) [x](https://evil.example"));
    assert_eq!(comment.matches("](").count(), 1, "{comment}");
}

#[test]
fn the_terminal_has_the_decision_first() {
    let text = plain(&Terminal::new(100).gate(&mixed()));
    insta::assert_snapshot!("gate_terminal", text);
}

#[test]
fn the_document_is_json_that_reads_back() {
    let json = serde_json::to_string_pretty(&passed()).unwrap();
    assert_eq!(serde_json::from_str::<GateDocument>(&json).unwrap(), passed());
    insta::assert_snapshot!("gate_json", json);
}

#[test]
fn a_search_ends_with_the_commit_or_with_the_ones_that_remain() {
    let step = |digit: &str, found: Found| BisectStep {
        commit: digit.repeat(40),
        subject: format!("Change {digit}"),
        found,
        processes: 20,
        verdict: "mlp, jax, cold-clean: slower +12.3 % (+11.0 to +13.5 %)".to_owned(),
    };
    let mut search = BisectDocument {
        schema: SchemaId::new(BISECT, BISECT_VERSION),
        firstlight: Build::new("0.1.0", None),
        subject: "benchmarks/mlp".to_owned(),
        good: revision("v1.2", "a", "Release"),
        bad: revision("HEAD", "f", "Newest"),
        change: Some(Change::Slower),
        places: vec![ChangedPlace { case: "mlp".to_owned(), arm: "jax".to_owned() }],
        steps: vec![step("f", Found::After), step("c", Found::Before), step("d", Found::NotRun)],
        suspects: vec![revision("e", "e", "Change e")],
    };
    let text = |search: &BisectDocument| plain(&Terminal::new(100).bisect(search));
    insta::assert_snapshot!("bisect_found", text(&search));
    search.suspects.insert(0, revision("d", "d", "Change d"));
    insta::assert_snapshot!("bisect_remaining", text(&search));
}
