//! `firstlight report`, through the command line.

use std::fs;

use crate::support::{Finished, Sandbox};
use crate::warm::measured;

fn report(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.arg("report").args(arguments);
    Finished::new(command)
}

#[test]
fn a_result_becomes_one_file_or_is_printed() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let finished = report(&sandbox, &["result"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert_eq!((finished.stdout.as_str(), finished.stderr.trim()), ("", "report: report.html"));
    let page = fs::read_to_string(sandbox.path().join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    let words = page.replace("<span class=\"whole\">", "").replace("</span>", "");
    assert!(words.contains("firstlight run small --case sleep --processes 2 --seed 1"));

    let again = report(&sandbox, &["result/result.json", "--output", "report.html", "-q"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""), "an older report is replaced");
    assert_eq!(report(&sandbox, &["result", "--output", "-"]).stdout, page);
}

#[test]
fn an_archive_has_the_same_page_as_its_folder() {
    let sandbox = Sandbox::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/snapshots/jax-1.0.tar.zst");
    let finished = report(&sandbox, &[fixture, "--output", "-"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.starts_with("<!DOCTYPE html>"));
}

#[test]
fn the_markdown_has_the_verdicts() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let finished = report(&sandbox, &["result", "--markdown"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("| sleep | warm | slow | quick | slower |"));
    assert!(!sandbox.path().join("report.html").exists());
}

#[test]
fn unreadable_and_unwritable_files_are_named() {
    let sandbox = Sandbox::new();
    let missing = report(&sandbox, &["nowhere"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("cannot read `nowhere`"), "{}", missing.stderr);
    sandbox.file("broken/result.json", "{");
    let broken = report(&sandbox, &["broken"]);
    assert_eq!(broken.code, 2);
    assert!(
        broken.stderr.contains("`broken/result.json` is not a firstlight result"),
        "{}",
        broken.stderr
    );
    let both = report(&sandbox, &["nowhere", "--markdown", "--output", "x.html"]);
    assert_eq!(both.code, 2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
    measured(&sandbox);
    let nowhere = report(&sandbox, &["result", "--output", "no/such/report.html"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.stderr.contains("cannot write `no/such/report.html`"), "{}", nowhere.stderr);
}
