//! Snapshots through the command line: created by a run, finished after a kill, packed, signed, checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::Manifest;
use firstlight_schema::validation::{Rule, RuleOutcome, ValidationDocument};
use minisign::KeyPair;

use crate::support::{Finished, Sandbox, eventually, sum_binary};

pub(crate) fn firstlight(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut command = sandbox.firstlight();
    command.args(arguments);
    Finished::new(command)
}

/// A folder with a small run of a workload in Rust.
pub(crate) fn measured(sandbox: &Sandbox) -> PathBuf {
    write_suite(sandbox, 20);
    let finished = firstlight(sandbox, &["run", "suite", "--processes", "2", "--output", "run"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    sandbox.path().join("run")
}

pub(crate) fn write_suite(sandbox: &Sandbox, iterations: u32) {
    let toml = format!(
        "name = \"small\"\nenvironment = \"as-found\"\nregimes = [\"cold-clean\", \"warm\"]\n\
         [warm]\niterations = {iterations}\n\
         [[case]]\nname = \"sum\"\nparameters = {{ count = 1000 }}\n\
         [[arm]]\nname = \"one\"\ncommand = [{0:?}]\n[[arm]]\nname = \"two\"\ncommand = [{0:?}]\n",
        sum_binary().to_str().unwrap()
    );
    sandbox.file("suite/suite.toml", &toml);
}

fn verified(sandbox: &Sandbox, what: &str, arguments: &[&str]) -> (i32, ValidationDocument) {
    let mut all = vec!["verify", what, "--format", "json"];
    all.extend(arguments);
    let finished = firstlight(sandbox, &all);
    let document = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", finished.stdout, finished.stderr));
    (finished.code, document)
}

fn outcome(document: &ValidationDocument, rule: Rule) -> RuleOutcome {
    document.rules.iter().find(|result| result.rule == rule).unwrap().outcome
}

fn manifest(folder: &Path) -> Manifest {
    serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn a_run_leaves_a_snapshot_that_verifies_as_a_folder_and_as_an_archive() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let (code, document) = verified(&sandbox, "run", &[]);
    assert_eq!(code, 0, "{document:#?}");
    for rule in [Rule::Inventory, Rule::Numbers, Rule::Schemas, Rule::Interleaved, Rule::Suite] {
        assert_eq!(outcome(&document, rule), RuleOutcome::Pass, "{document:#?}");
    }
    let manifest = manifest(&folder);
    assert_eq!(manifest.origin.argv[..3], ["firstlight", "run", "suite"]);
    assert_eq!(manifest.origin.choice.processes, Some(2));
    assert!(manifest.origin.firstlight.binary_sha256.is_some());
    for name in ["first.tar.zst", "second.tar.zst"] {
        let packed = firstlight(&sandbox, &["snapshot", "run", "--archive", "--output", name]);
        assert_eq!(packed.code, 0, "{}", packed.stderr);
    }
    let bytes = |name: &str| fs::read(sandbox.path().join(name)).unwrap();
    assert!(bytes("first.tar.zst") == bytes("second.tar.zst"), "the same files, the same bytes");
    let (code, packed) = verified(&sandbox, "first.tar.zst", &[]);
    assert_eq!(code, 0);
    assert_eq!(packed.snapshot, manifest.id);
    let shown = firstlight(&sandbox, &["show", "first.tar.zst", "--format", "json"]);
    assert_eq!(shown.stdout, fs::read_to_string(folder.join("result.json")).unwrap());
    let text = firstlight(&sandbox, &["verify", "run"]);
    assert!(text.stdout.contains("\nverified: "), "{}", text.stdout);
}

#[test]
fn a_snapshot_is_copied_as_a_whole_and_never_overwrites() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let copied = firstlight(&sandbox, &["snapshot", "run", "--output", "copy"]);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    assert_eq!(verified(&sandbox, "copy", &[]).0, 0);
    let again = firstlight(&sandbox, &["snapshot", "run", "--output", "copy"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("cannot make `copy`"), "{}", again.stderr);
}

#[test]
fn changed_missing_and_extra_files_are_named() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let refused = |what: &str| {
        let finished = firstlight(&sandbox, &["verify", "run"]);
        assert_eq!(finished.code, 6, "{}", finished.stdout);
        assert!(finished.stdout.contains(what), "{what}\n{}", finished.stdout);
        assert!(finished.stdout.contains("NOT VERIFIED"), "{}", finished.stdout);
    };
    let raw = folder.join("raw.jsonl");
    let honest = fs::read_to_string(&raw).unwrap();
    fs::write(&raw, honest.replacen("\"reaped\":", "\"reaped\":1", 1)).unwrap();
    refused("raw.jsonl: ");
    refused("at /cases/0/");
    fs::write(&raw, &honest).unwrap();
    fs::write(folder.join("extra.txt"), "x").unwrap();
    refused("extra.txt: a file that the manifest does not name");
    fs::remove_file(folder.join("extra.txt")).unwrap();
    fs::remove_file(folder.join("CITATION.cff")).unwrap();
    refused("CITATION.cff: missing, expected sha256:");
}

#[test]
fn a_changed_number_is_rejected_with_its_place_and_both_values() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let path = folder.join("result.json");
    let mut result: RunDocument =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let summary = result.cases[0].arms[1].regimes[0].summary.as_mut().unwrap();
    summary.wall.point = 12.5;
    fs::write(&path, serde_json::to_string(&result).unwrap() + "\n").unwrap();
    let finished = firstlight(&sandbox, &["verify", "run"]);
    assert_eq!(finished.code, 6);
    let place = "result.json at /cases/0/arms/1/regimes/0/summary/wall/point: 12.5, expected ";
    assert!(finished.stdout.contains(place), "{}", finished.stdout);
}

#[test]
fn a_run_that_was_killed_is_shown_and_finished() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox, 10);
    let mut command = sandbox.firstlight();
    command.args(["run", "suite", "--processes", "500", "--output", "run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let raw = sandbox.path().join("run/raw.jsonl");
    let lines = || fs::read_to_string(&raw).map_or(0, |text| text.lines().count());
    assert!(eventually(|| lines() > 20));
    child.kill().unwrap();
    child.wait().unwrap();
    // As if the last line had been truncated.
    let cut = fs::read_to_string(&raw).unwrap() + "{\"subject\":{\"case\":\"su";
    fs::write(&raw, cut).unwrap();
    let refused = firstlight(&sandbox, &["verify", "run"]);
    assert_eq!(refused.code, 6);
    assert!(refused.stderr.contains("hint: `firstlight snapshot RUN`"), "{}", refused.stderr);
    let shown = firstlight(&sandbox, &["show", "run", "--format", "json"]).run();
    assert!(!shown.complete);
    assert!(shown.cases[0].arms[0].regimes[0].samples.len() > 1);
    let finished = firstlight(&sandbox, &["snapshot", "run"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let (code, document) = verified(&sandbox, "run", &[]);
    assert_eq!(code, 0, "{document:#?}");
    assert_eq!(outcome(&document, Rule::Complete), RuleOutcome::Warn);
}

#[test]
fn a_signature_is_only_valid_for_its_key_and_its_manifest() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let keys = || KeyPair::generate_unencrypted_keypair().unwrap();
    let (ours, other) = (keys(), keys());
    sandbox.file("secret.key", &ours.sk.to_box(None).unwrap().into_string());
    sandbox.file("public.pub", &ours.pk.to_box().unwrap().into_string());
    let signed = firstlight(
        &sandbox,
        &["snapshot", "run", "--sign", "secret.key", "--archive", "--output", "s.tar.zst"],
    );
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    let (code, document) = verified(&sandbox, "s.tar.zst", &["--key", "public.pub"]);
    assert_eq!(code, 0, "{document:#?}");
    assert_eq!(outcome(&document, Rule::Signature), RuleOutcome::Pass);
    let (code, _) = verified(&sandbox, "s.tar.zst", &["--key", &ours.pk.to_base64()]);
    assert_eq!(code, 0);
    let (code, document) = verified(&sandbox, "s.tar.zst", &["--key", &other.pk.to_base64()]);
    assert_eq!((code, outcome(&document, Rule::Signature)), (6, RuleOutcome::Fail));
    let path = folder.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + " ").unwrap();
    let (code, document) = verified(&sandbox, "run", &["--key", "public.pub"]);
    assert_eq!((code, outcome(&document, Rule::Signature)), (6, RuleOutcome::Fail));
    let wrong = firstlight(&sandbox, &["verify", "run", "--key", "nonsense"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("`nonsense` is not a usable key"), "{}", wrong.stderr);
}

#[test]
fn a_rerun_is_judged_by_its_ratios_and_too_few_samples_are_inconclusive() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let packed = firstlight(&sandbox, &["snapshot", "run", "--archive"]);
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    let arguments = ["compare", "run", "run.tar.zst", "--replication", "--margin", "50%"];
    let finished = firstlight(&sandbox, &arguments);
    assert_eq!(finished.code, 4, "{}{}", finished.stdout, finished.stderr);
    assert!(
        finished.stdout.contains("two over one: 1.000 times what it was"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("replication: inconclusive"), "{}", finished.stdout);
    let alone = firstlight(&sandbox, &["compare", "run", "--replication"]);
    assert_eq!(alone.code, 2);
}
