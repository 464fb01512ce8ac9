//! Verdicts over generated runs: permitted claims and withheld ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;
mod noise;

use std::collections::BTreeMap;

use firstlight_analysis::judge::judge;
use firstlight_analysis::replication::{replicate, replication};
use firstlight_analysis::results::{
    Margins, compare_arms, compare_results, differences, gate, missing,
};
use firstlight_analysis::stopping::{calls, is_narrow_enough};
use firstlight_schema::comparison::{Comparison, Gate, Replication, Verdict};
use firstlight_schema::finding::Finding;
use firstlight_schema::machine::Machine;
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::run::{
    Agreed, ArmResult, CaseResult, EnvironmentKind, EnvironmentRecord, RegimeResult, RunDocument,
};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Agreement;
use firstlight_schema::version::Build;
use serde_json::{Value, json};

use made::{MS, options, regime, warm};
use noise::Noise;

fn arm(name: &str, regime: RegimeResult) -> ArmResult {
    ArmResult {
        name: name.to_owned(),
        command: None,
        regimes: vec![regime],
        priming: Vec::new(),
        stopped: None,
        agreement: Agreed::NotCompared { why: String::new() },
        findings: Vec::new(),
    }
}

fn case(name: &str, arms: Vec<ArmResult>, again: Option<ArmResult>) -> CaseResult {
    CaseResult {
        name: name.to_owned(),
        parameters: BTreeMap::new(),
        sweep: None,
        work: None,
        margin: 0.02,
        reference: arms.first().map_or_else(String::new, |arm| arm.name.clone()),
        arms,
        again,
        comparisons: Vec::new(),
        break_evens: Vec::new(),
        planted: None,
    }
}

fn document(cases: Vec<CaseResult>) -> RunDocument {
    RunDocument {
        schema: RunDocument::schema_id(),
        firstlight: Build::new("0.1.0", None),
        analysis: 2,
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        suite: "made".to_owned(),
        suite_digest: "00".to_owned(),
        machine: Machine { cpu: None, cores: Some(2), memory_bytes: None, kernel: None },
        before: MachineState::default(),
        after: None,
        machine_notices: Vec::new(),
        environment: EnvironmentRecord {
            kind: EnvironmentKind::AsFound,
            python: None,
            lock_digest: None,
            installer: None,
            packages: BTreeMap::new(),
        },
        timeout_ns: Nanos(60_000 * MS),
        seed: 1,
        options: options(),
        complete: true,
        cases,
        control: None,
        sweeps: Vec::new(),
        segments: Vec::new(),
        nodes: Vec::new(),
        imported: None,
    }
}

/// Warm processes of a level, each round disturbed in its own way for all arms alike.
fn samples(level: f64, rounds: u32, seed: u64, further: &[Value]) -> Vec<Sample> {
    (1..=rounds)
        .map(|round| {
            let shared = 1.0 + 0.03 * Noise::new(u64::from(round)).normal();
            let own = 1.0 + 0.004 * Noise::new(seed + u64::from(round)).normal();
            let mut noise = Noise::new(1_000 * seed + u64::from(round));
            let mut calls = noise.series(80, 1e6 * level * shared * own, 0.01, 0.2);
            noise.slow_some(&mut calls, 0.005, 3.0);
            let same = [output("float32", &[1.0, 2.0, 3.0])];
            warm(round, &calls, if further.is_empty() { &same } else { further })
        })
        .collect()
}

fn contender(name: &str, level: f64, seed: u64) -> ArmResult {
    arm(name, regime(samples(level, 10, seed, &[])))
}

fn judged(arms: Vec<ArmResult>, again: Option<ArmResult>) -> RunDocument {
    let mut document = document(vec![case("case", arms, again)]);
    judge(&mut document);
    document
}

fn verdict(document: &RunDocument) -> &Comparison {
    &document.cases[0].comparisons[0]
}

#[test]
fn a_faster_arm_is_faster_a_slower_one_slower_and_an_equal_one_equivalent() {
    for (level, expected) in
        [(0.9, Verdict::Faster), (1.1, Verdict::Slower), (1.0, Verdict::Equivalent)]
    {
        let document = judged(vec![contender("a", 1.0, 10), contender("b", level, 20)], None);
        let comparison = verdict(&document);
        assert_eq!(comparison.verdict, expected, "{comparison:?}");
        assert!((comparison.ratio.unwrap().point / level - 1.0).abs() < 0.01);
        assert!(comparison.adjusted_p.unwrap() <= 0.05);
    }
}

#[test]
fn a_difference_at_the_edge_of_the_margin_is_inconclusive() {
    let document = judged(vec![contender("a", 1.0, 10), contender("b", 1.02, 20)], None);
    assert_eq!(verdict(&document).verdict, Verdict::Inconclusive);
}

#[test]
fn a_failed_control_withdraws_all_verdicts_and_a_passed_one_none() {
    let arms = || vec![contender("a", 1.0, 10), contender("b", 1.2, 20)];
    let failed = judged(arms(), Some(contender("a", 1.1, 30)));
    assert_eq!(failed.control.as_ref().unwrap().passed, Some(false));
    assert_eq!(verdict(&failed).verdict, Verdict::Invalid);
    assert!(verdict(&failed).why.as_ref().unwrap().contains("the A/A control failed"));
    assert_eq!(failed.cases[0].arms[0].findings[0].finding, Finding::ControlFailed);
    let passed = judged(arms(), Some(contender("a", 1.0, 30)));
    assert_eq!(passed.control.as_ref().unwrap().passed, Some(true));
    assert_eq!(verdict(&passed).verdict, Verdict::Slower);
    assert!(passed.cases[0].arms[0].findings.is_empty());
}

#[test]
fn fewer_than_five_pairs_make_no_claim() {
    let select =
        |level, seed| arm(if seed == 1 { "a" } else { "b" }, regime(samples(level, 4, seed, &[])));
    let document = judged(vec![select(1.0, 1), select(2.0, 2)], None);
    let comparison = verdict(&document);
    assert_eq!(comparison.verdict, Verdict::TooFew);
    assert_eq!(comparison.needed, Some(5));
}

fn output(dtype: &str, values: &[f64]) -> Value {
    let norm = (values.iter().map(|v| v * v).sum::<f64>() / 3.0).sqrt();
    json!({"type": "output", "check": "not-given", "digest": format!("sha256:{values:?}{dtype}"),
        "leaves": [{"dtype": dtype, "digest": format!("{values:?}"), "shape": [3], "norm": norm,
            "values": values}]})
}

fn with_output(name: &str, dtype: &str, values: &[f64]) -> ArmResult {
    arm(name, regime(samples(1.0, 6, 3, &[output(dtype, values)])))
}

#[test]
fn results_are_equal_close_or_different_and_only_different_ones_have_no_verdict() {
    let reference = || with_output("a", "float32", &[1.0, 2.0, 3.0]);
    let agreement = |values: &[f64]| {
        let mut document = judged(vec![reference(), with_output("b", "float32", values)], None);
        let invalid = verdict(&document).verdict == Verdict::Invalid;
        (document.cases[0].arms.remove(1).agreement, invalid)
    };
    assert_eq!(agreement(&[1.0, 2.0, 3.0]), (Agreed::Equal, false));
    assert!(matches!(agreement(&[1.0, 2.0, 3.000_01]), (Agreed::Close { .. }, false)));
    let (differs, invalid) = agreement(&[1.0, 2.0, 3.1]);
    let Agreed::Differs { how } = differs else { panic!("{differs:?}") };
    assert!(how.starts_with("array 0 differs by 4.5e-2 of its size"), "{how}");
    assert!(invalid);
}

#[test]
fn an_arm_that_later_returns_another_result_is_detected() {
    let changing = |name: &str| {
        let samples = (1..=6).map(|round| {
            let last = if round == 6 { 9.0 } else { 3.0 };
            let further = [output("float32", &[1.0, 2.0, last])];
            samples(1.0, round, 3, &further).pop().unwrap()
        });
        arm(name, regime(samples.collect()))
    };
    let document = judged(vec![with_output("a", "float32", &[1.0, 2.0, 3.0]), changing("b")], None);
    assert!(matches!(document.cases[0].arms[1].agreement, Agreed::Differs { .. }));
    let document = judged(vec![changing("a")], None);
    let Agreed::Differs { how } = &document.cases[0].arms[0].agreement else { panic!() };
    assert_eq!(how, "a differs from itself from process to process, warm");
}

#[test]
fn integers_are_equal_or_not() {
    let select = |name, last| with_output(name, "int32", &[1e5, 2e5, last]);
    let document = judged(vec![select("a", 3.0), select("b", 4.0)], None);
    let Agreed::Differs { how } = &document.cases[0].arms[1].agreement else { panic!() };
    assert!(how.starts_with("array 0 holds other values (int32, int32)"), "{how}");
}

#[test]
fn equal_means_to_the_last_bit_if_the_suite_requires_it() {
    let close = vec![
        with_output("a", "float32", &[1.0, 2.0, 3.0]),
        with_output("b", "float32", &[1.0, 2.0, 3.000_01]),
    ];
    let mut document = document(vec![case("case", close, None)]);
    document.options.outputs = Agreement::Equal;
    judge(&mut document);
    assert!(matches!(document.cases[0].arms[1].agreement, Agreed::Differs { .. }));
}

#[test]
fn a_type_other_than_the_requested_or_the_reference_one_is_a_finding() {
    let wide = with_output("a", "float64", &[1.0, 2.0, 3.0]);
    let narrow = with_output("b", "float32", &[1.0, 2.0, 3.0]);
    let document = judged(vec![wide.clone(), narrow], None);
    let findings = &document.cases[0].arms[1].findings;
    assert_eq!(findings[0].finding, Finding::PrecisionDiffers);
    assert_eq!(findings[0].text, "the result is float32, the reference's (a) is float64");
    assert_ne!(verdict(&document).verdict, Verdict::Invalid, "nobody asked for a type");
    let same = judged(vec![wide.clone(), ArmResult { name: "b".to_owned(), ..wide }], None);
    assert!(same.cases[0].arms[1].findings.is_empty());
}

#[test]
fn several_comparisons_are_corrected_for() {
    // One arm barely beyond its margin: significant alone, but not among many comparisons.
    let edge = || vec![contender("a", 1.0, 10), contender("b", 1.035, 26)];
    let mut alone = document(vec![case("edge", edge(), None)]);
    judge(&mut alone);
    assert_eq!(verdict(&alone).verdict, Verdict::Slower, "{:?}", verdict(&alone));
    let mut cases = vec![case("edge", edge(), None)];
    cases.extend((0..200).map(|n| {
        let arms = vec![contender("a", 1.0, 10), contender("b", 1.02, 20)];
        case(&format!("other-{n}"), arms, None)
    }));
    let mut many = document(cases);
    judge(&mut many);
    let comparison = verdict(&many);
    assert_eq!(comparison.verdict, Verdict::NotConfirmed);
    assert!(comparison.why.as_ref().unwrap().contains("correction for 201 comparisons"));
}

#[test]
fn stopping_depends_only_on_widths() {
    let equal = [samples(1.0, 10, 1, &[]), samples(1.0, 10, 2, &[])];
    let apart = [samples(1.0, 10, 1, &[]), samples(2.0, 10, 2, &[])];
    assert!(is_narrow_enough(&equal, 0.02) && is_narrow_enough(&apart, 0.02));
    assert!(!is_narrow_enough(&equal, 0.0005) && !is_narrow_enough(&apart, 0.0005));
    assert!(is_narrow_enough::<Vec<Sample>>(&[], 0.01));
    assert!(calls(&equal[0]).unwrap() >= 50);
}

#[test]
fn two_arms_of_one_result_are_compared_pair_by_pair() {
    let result = judged(vec![contender("a", 1.0, 10), contender("b", 1.1, 20)], None);
    let margins = Margins::default();
    let found = compare_arms(&result, &[("b", "a")], &margins, &[]);
    assert_eq!(found[0].verdict, Verdict::Faster);
    assert_eq!(gate(&found, &[], &[]), Gate::Passed);
    let found = compare_arms(&result, &[("a", "b")], &margins, &[]);
    assert_eq!(gate(&found, &[], &[]), Gate::Failed);
    let wide = Margins { cases: [("case".to_owned(), 0.5)].into(), ..Margins::default() };
    let found = compare_arms(&result, &[("a", "b")], &wide, &[]);
    assert_eq!((found[0].verdict, gate(&found, &[], &[])), (Verdict::Equivalent, Gate::Passed));
}

#[test]
fn two_results_are_compared_unpaired_and_only_on_one_machine() {
    let result = |level, seed| judged(vec![contender("a", level, seed)], None);
    let (before, mut after) = (result(1.0, 10), result(1.3, 20));
    let margins = Margins::default();
    let found = compare_results(&before, &after, &margins, &[]);
    assert_eq!(found[0].verdict, Verdict::Slower);
    assert!(differences(&before, &after).is_empty());
    let narrow = compare_results(
        &before,
        &result(1.0, 30),
        &Margins { all: Some(0.001), ..margins.clone() },
        &[],
    );
    assert_eq!(gate(&narrow, &[], &[]), Gate::Inconclusive);
    assert_eq!(missing(&before, &after), [] as [&str; 0]);
    let fewer = judged(Vec::new(), None);
    assert_eq!(missing(&before, &fewer), ["only in the first: case, a, warm"]);
    assert_eq!(gate(&[], &missing(&before, &fewer), &[]), Gate::Inconclusive);
    after.machine.cores = Some(64);
    let found = compare_results(&before, &after, &margins, &[]);
    assert_eq!(found[0].verdict, Verdict::Invalid);
    assert_eq!(differences(&before, &after), ["cores: 2, then 64"]);
}

/// Two arms with a given ratio, on a machine of a given speed.
fn rerun(level: f64, ratio: f64, seed: u64) -> RunDocument {
    judged(
        vec![contender("reference", level, seed), contender("other", level * ratio, seed + 100)],
        None,
    )
}

#[test]
fn a_rerun_on_a_machine_of_another_speed_replicates_if_the_ratio_is_the_same() {
    let margins = Margins { all: Some(0.05), ..Margins::default() };
    let (first, mut second) = (rerun(1.0, 1.5, 20), rerun(3.0, 1.5, 50));
    second.machine.cores = Some(64);
    let found = replicate(&first, &second, &margins, &[]);
    assert_eq!(found[0].verdict, Verdict::Equivalent, "{found:#?}");
    assert_eq!(replication(&found), Replication::Replicated);
}

#[test]
fn a_rerun_with_another_ratio_does_not_replicate() {
    let margins = Margins { all: Some(0.05), ..Margins::default() };
    let found = replicate(&rerun(1.0, 1.5, 20), &rerun(1.0, 1.2, 50), &margins, &[]);
    assert_eq!(found[0].verdict, Verdict::Faster);
    assert_eq!(replication(&found), Replication::NotReplicated);
    assert_eq!(replication(&[]), Replication::Inconclusive);
}

#[test]
fn a_rerun_of_another_suite_is_rejected() {
    let mut second = rerun(1.0, 1.5, 50);
    second.suite_digest = "01".to_owned();
    let found = replicate(&rerun(1.0, 1.5, 20), &second, &Margins::default(), &[]);
    assert_eq!(found[0].verdict, Verdict::Invalid);
    assert_eq!(found[0].why.as_deref(), Some("the suite's files are not the same"));
}
