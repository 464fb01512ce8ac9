//! The command that repeats a gate.

use std::time::Duration;

use firstlight_engine::secrets::without_secrets;
use firstlight_schema::cache::Policy;
use firstlight_schema::gate::Revision;
use firstlight_schema::suite::Regime;

use super::trial::{Amounts, Command, Subject, Trial};

/// What `--timeout` is by default.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Quoted for a POSIX shell, with every option that changes what is measured.
pub(super) fn reproduce(
    trial: &Trial<'_>,
    amounts: &Amounts,
    base: &Revision,
    head: &Revision,
) -> String {
    let mut words = vec!["firstlight".to_owned(), "gate".to_owned()];
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("--base", base.short().to_owned());
    // Uncommitted changes can only be measured where they are.
    if !head.uncommitted {
        add("--head", head.short().to_owned());
    }
    if let Some(line) = trial.prepare {
        add("--prepare", line.to_owned());
    }
    options(amounts, &mut add);
    match &trial.subject {
        Subject::Suite(path) => words.push(path.display().to_string()),
        Subject::Command(command) => {
            conditions(command, &mut add);
            words.extend(command.any_exit_code.then(|| "--ignore-exit-code".to_owned()));
            words.push("--".to_owned());
            words.extend(command.words.iter().cloned());
        }
    }
    let words = without_secrets(&words);
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

fn options(amounts: &Amounts, add: &mut impl FnMut(&str, String)) {
    let choice = &amounts.choice;
    if let Some(name) = &choice.profile {
        add("--profile", name.clone());
    }
    if let Some(processes) = choice.processes {
        add("--processes", processes.to_string());
    }
    if let Some(seed) = choice.seed {
        add("--seed", seed.to_string());
    }
    if let Some(margin) = amounts.margins.all {
        add("--margin", margin.to_string());
    }
    for (case, margin) in &amounts.margins.cases {
        add("--margin", format!("{case}={margin}"));
    }
    for (name, value) in &choice.set {
        add("--set", format!("{name}={value}"));
    }
    for (option, names) in
        [("--extra", &choice.extras), ("--case", &choice.cases), ("--arm", &choice.arms)]
    {
        for name in names {
            add(option, name.clone());
        }
    }
    for regime in &choice.regimes {
        add("--regime", regime.to_string());
    }
}

/// How a command is started, where it is not the usual way.
fn conditions(command: &Command, add: &mut impl FnMut(&str, String)) {
    let primed = command.regimes.contains(&Regime::ColdPrimed);
    let clean = command.regimes.contains(&Regime::ColdClean);
    match (clean, primed) {
        (true, true) => add("--cache", format!("{},primed", command.compilers)),
        (false, true) => add("--cache", "primed".to_owned()),
        (_, false) if command.compilers == Policy::AsConfigured => {}
        (_, false) => add("--cache", command.compilers.to_string()),
    }
    if command.timeout != TIMEOUT {
        add("--timeout", format!("{}ms", command.timeout.as_millis()));
    }
}
