//! Goldens of the terminal's text: complete without colour, at every width.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;

use firstlight_analysis::control::price;
use firstlight_analysis::examine::{Conditions, Job, examine};
use firstlight_analysis::regime::regime_result;
use firstlight_report::terminal::{Report, Terminal};
use firstlight_schema::cache::Policy;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::run::{Agreed, ArmResult, RunDocument, RunOptions};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{Agreement, Regime};

use made::{options, policy, raw, run, samples, swept};

/// A run of `firstlight cold` with these commands.
fn with_commands(commands: Vec<(&str, Vec<Sample>)>) -> RunDocument {
    let options = RunOptions { quantiles: Vec::new(), ..options() };
    let arm = |(name, samples): (&str, Vec<Sample>)| ArmResult {
        name: name.to_owned(),
        command: Some(["python", "train.py", "--name", name].map(str::to_owned).to_vec()),
        regimes: vec![regime_result(
            Regime::ColdClean,
            policy(Policy::Clean),
            samples,
            None,
            &options,
            1,
        )],
        priming: Vec::new(),
        stopped: None,
        agreement: Agreed::Reference,
        findings: Vec::new(),
    };
    let mut document = run();
    document.options.outputs = Agreement::Unchecked;
    document.control = None;
    let mut case = document.cases.remove(0);
    "start".clone_into(&mut case.name);
    case.work = None;
    case.parameters.clear();
    commands[0].0.clone_into(&mut case.reference);
    case.arms = commands.into_iter().map(arm).collect();
    case.again = None;
    case.comparisons = Vec::new();
    case.break_evens = Vec::new();
    document.cases = vec![case];
    document
}

fn cold() -> RunDocument {
    let mut samples = samples(Policy::Clean, "miss");
    let conditions =
        Conditions { policy: policy(Policy::Clean), any_exit_code: false, job: Job::Command };
    samples.push(examine(raw(8, 0, "hit"), conditions));
    for sample in &mut samples {
        sample.round = Some(sample.number);
    }
    let controls = (1..=7).map(|n| (n, raw(n, u64::from(n * n * 4 - 3), "miss"))).collect();
    let hooks = price(&samples, controls);
    let mut document = with_commands(vec![("train", samples)]);
    document.cases[0].arms[0].regimes[0].hooks = Some(hooks);
    document
}

/// Two commands, the second with a shorter start.
fn compared() -> RunDocument {
    let rounds = |shorter: u64| {
        let mut samples = samples(Policy::Clean, "miss");
        for sample in &mut samples {
            sample.round = Some(sample.number);
            let first = sample.first_result.as_mut().unwrap();
            for row in &mut first.phases {
                row.ns = Nanos(row.ns.0 / shorter);
                row.parts.iter_mut().for_each(|part| part.ns = Nanos(part.ns.0 / shorter));
            }
            first.ns = first.phases.iter().map(|row| row.ns).sum();
        }
        samples
    };
    let mut document = with_commands(vec![("a", rounds(1)), ("b", rounds(3))]);
    firstlight_analysis::judge::judge(&mut document);
    document
}

/// Colours are escape sequences; the text without them must be complete.
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
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&cold(), Report::Usual)));
}

#[test]
fn a_cold_document_in_a_small_terminal() {
    insta::assert_snapshot!(plain(&Terminal::new(40).run(&cold(), Report::Usual)));
}

#[test]
fn the_long_form_of_a_command() {
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&cold(), Report::Full)));
}

#[test]
fn the_first_screen_has_at_most_24_lines() {
    for width in [80, 120] {
        for document in [cold(), compared(), run()] {
            let text = Terminal::new(width).run(&document, Report::Usual);
            assert!(text.lines().count() <= 24, "{text}");
        }
    }
}

#[test]
fn every_program_and_package_is_listed_where_all_is_asked_for() {
    let mut document = cold();
    let regime = &mut document.cases[0].arms[0].regimes[0];
    let summary = regime.summary.as_mut().expect("a valid command has a summary");
    let package = summary.packages[0].clone();
    summary.packages = (0..40)
        .map(|n| {
            let mut one = package.clone();
            one.name = format!("package-{n}");
            one
        })
        .collect();
    let listed = |report| {
        let text = plain(&Terminal::new(100).run(&document, report));
        text.matches("package-").count()
    };
    assert_eq!((listed(Report::All), listed(Report::Full)), (40, 6));
}

#[test]
fn two_commands_are_compared_with_the_phases_in_which_they_differ() {
    insta::assert_snapshot!(plain(&Terminal::new(100).run(&compared(), Report::Usual)));
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
    let text = plain(&Terminal::new(100).run(&swept(), Report::Full));
    insta::assert_snapshot!(&text[text.find("mlp over width").unwrap()..]);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [40, 57, 80, 110] {
        let terminal = Terminal::new(width);
        let mut texts = Vec::new();
        for report in [Report::Minimum, Report::Usual, Report::Full, Report::All] {
            texts.extend([terminal.run(&cold(), report), terminal.run(&compared(), report)]);
            texts.extend([terminal.run(&run(), report), terminal.run(&swept(), report)]);
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            let line = plain(line);
            assert!(line.chars().count() <= width, "{width}: `{line}`");
        }
    }
}
