//! The text of the command line, frozen: the help of every command, and its errors.

use std::fmt::Write as _;

use crate::support::{Finished, Sandbox};

/// Every command, with arguments that it must reject.
const REFUSALS: [(&str, &[&str]); 20] = [
    ("bisect", &["bisect", "--good", "HEAD"]),
    ("compare", &["compare", "before", "after"]),
    ("cold", &["cold", "--cache", "filthy", "--", "true"]),
    ("conformance", &["conformance"]),
    ("doctor", &["doctor", "now"]),
    ("gate", &["gate", "--base", "HEAD"]),
    ("publish", &["publish", "empty"]),
    ("report", &["report", "empty"]),
    ("export", &["export", "empty", "--to", "xml"]),
    ("import", &["import", "notes.txt"]),
    ("list", &["list", "suites"]),
    ("merge", &["merge", "notes.txt"]),
    ("new", &["new", "empty"]),
    ("run", &["run", "empty"]),
    ("show", &["show", "notes.txt"]),
    ("snapshot", &["snapshot", "empty"]),
    ("status", &["status", "empty"]),
    ("trace", &["trace", "notes.txt"]),
    ("verify", &["verify", "notes.txt"]),
    ("warm", &["warm", "step"]),
];

fn firstlight(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.args(arguments).env("COLUMNS", "100");
    Finished::new(command)
}

/// The commands that `firstlight --help` lists.
fn listed(help: &str) -> Vec<&str> {
    let (_, after) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = after.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|&name| name != "help").collect()
}

#[test]
fn the_help_of_every_command_is_frozen() {
    let sandbox = Sandbox::new();
    let root = firstlight(&sandbox, &["--help"]).stdout;
    let names = listed(&root);
    let known: Vec<&str> = REFUSALS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known, "every command is frozen");
    insta::assert_snapshot!("help", root);
    for name in names {
        let finished = firstlight(&sandbox, &[name, "--help"]);
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
        insta::assert_snapshot!(format!("help_{name}"), finished.stdout);
    }
}

#[test]
fn the_errors_and_exit_codes_of_every_command_are_frozen() {
    let sandbox = Sandbox::new();
    sandbox.file("notes.txt", "nothing that was measured\n");
    std::fs::create_dir(sandbox.path().join("empty")).unwrap();
    let mut text = String::new();
    for (_, arguments) in REFUSALS.iter().chain(&[("", &["frobnicate"][..])]) {
        let finished = firstlight(&sandbox, arguments);
        let code = finished.code;
        assert_ne!(code, 0, "{arguments:?}");
        let home = sandbox.path().display().to_string();
        let [stdout, stderr] =
            [&finished.stdout, &finished.stderr].map(|text| text.replace(&home, "[sandbox]"));
        writeln!(text, "$ firstlight {}\n[exit code {code}]", arguments.join(" ")).unwrap();
        for (stream, said) in [("stdout", stdout), ("stderr", stderr)] {
            if !said.is_empty() {
                writeln!(text, "[{stream}]\n{}", said.trim_end()).unwrap();
            }
        }
        text.push('\n');
    }
    insta::assert_snapshot!("refusals", text);
}
