//! Shards of one suite become one snapshot, or are rejected with the name of the difference.

use std::fs;
use std::path::PathBuf;

use firstlight_schema::run::RunDocument;
use firstlight_schema::snapshot::{Manifest, Origin};
use firstlight_schema::suite::Scalar;
use firstlight_schema::validation::{Rule, RuleOutcome, ValidationDocument};

use crate::resealed::resealed;
use crate::snapshot::{firstlight, write_suite};
use crate::support::{Finished, Sandbox};

/// Two shards of one suite, as measured by two nodes.
fn shards(sandbox: &Sandbox) {
    write_suite(sandbox, 20);
    shard(sandbox, "a", &["--seed", "1"]);
    shard(sandbox, "b", &["--seed", "2"]);
}

fn shard(sandbox: &Sandbox, node: &str, more: &[&str]) {
    let mut arguments = vec!["run", "suite", "--processes", "3", "--node", node, "--output", node];
    arguments.extend(more);
    let finished = firstlight(sandbox, &arguments);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
}

fn merged(sandbox: &Sandbox, arguments: &[&str]) -> Finished {
    let mut all = vec!["merge"];
    all.extend(arguments);
    firstlight(sandbox, &all)
}

/// The error of a rejected merge; nothing may have been written.
fn refused(sandbox: &Sandbox, shards: &[&str], code: i32) -> String {
    let mut arguments = shards.to_vec();
    arguments.extend(["--output", "refused"]);
    let finished = merged(sandbox, &arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (code, ""), "{}", finished.stderr);
    assert!(!sandbox.path().join("refused").exists());
    let left = fs::read_dir(sandbox.path()).unwrap().flatten();
    let left = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
    assert_eq!(left.filter(|name| name.starts_with(".tmp")).count(), 0);
    finished.stderr
}

fn read<T: serde::de::DeserializeOwned>(path: PathBuf) -> T {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn two_shards_become_a_snapshot_that_verifies_from_their_readings_and_names_them() {
    let sandbox = Sandbox::new();
    shards(&sandbox);
    let finished = merged(&sandbox, &["a", "b", "--output", "both"]);
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    insta::assert_snapshot!(finished.stderr, @r"
    merged 2 shards from 2 nodes: a (21 processes), b (21 processes)

    result: both
    ");
    let folder = |name: &str| sandbox.path().join(name);
    let manifest: Manifest = read(folder("both/manifest.json"));
    let of_shards: Vec<Manifest> =
        ["a", "b"].map(|name| read(folder(name).join("manifest.json"))).into();
    let named: Vec<_> = manifest.origin.shards.iter().map(|shard| Some(shard.id.clone())).collect();
    assert_eq!(named, of_shards.iter().map(|shard| shard.id.clone()).collect::<Vec<_>>());
    let raw = |name: &str| fs::read(folder(name).join("raw.jsonl")).unwrap();
    assert!([raw("a"), raw("b")].concat() == raw("both"), "the readings stay as they are");

    let document: RunDocument = read(folder("both/result.json"));
    assert!(document.complete);
    assert_eq!(document.segments, [22]);
    let nodes: Vec<_> = document.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["a", "b"]);
    let samples = &document.cases[0].arms[0].regimes[0].samples;
    let rounds: Vec<_> = samples.iter().map(|sample| sample.round.unwrap()).collect();
    assert_eq!(rounds, [1, 2, 3, 4, 5, 6]);

    let verified = firstlight(&sandbox, &["verify", "both", "--format", "json"]);
    let validation: ValidationDocument = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!((verified.code, validation.passed), (0, true), "{validation:#?}");
    for rule in
        [Rule::Inventory, Rule::Numbers, Rule::Interleaved, Rule::FreshProcesses, Rule::Times]
    {
        let result = validation.rules.iter().find(|result| result.rule == rule).unwrap();
        assert_eq!(result.outcome, RuleOutcome::Pass, "{result:#?}");
    }
    assert_eq!(firstlight(&sandbox, &["snapshot", "both", "--archive"]).code, 0);
    assert_eq!(firstlight(&sandbox, &["verify", "both.tar.zst"]).code, 0);
    let recomputed =
        firstlight(&sandbox, &["snapshot", "both", "--recompute", "--output", "again"]);
    assert_eq!(recomputed.code, 0, "{}", recomputed.stderr);
    assert_eq!(firstlight(&sandbox, &["verify", "again"]).code, 0);
    let resumed = firstlight(&sandbox, &["run", "--resume", "both"]);
    assert_eq!(resumed.code, 2, "{}", resumed.stderr);
}

#[test]
fn a_merged_snapshot_takes_further_shards_and_gives_what_all_at_once_give() {
    let sandbox = Sandbox::new();
    shards(&sandbox);
    shard(&sandbox, "c", &["--seed", "3"]);
    assert_eq!(merged(&sandbox, &["a", "b", "--output", "two"]).code, 0);
    assert_eq!(firstlight(&sandbox, &["snapshot", "two", "--archive"]).code, 0);
    assert_eq!(merged(&sandbox, &["two.tar.zst", "c", "--output", "three"]).code, 0);
    assert_eq!(merged(&sandbox, &["a", "b", "c", "--output", "once"]).code, 0);
    let text = |name: &str| fs::read_to_string(sandbox.path().join(name)).unwrap();
    assert!(text("three/result.json") == text("once/result.json"));
    assert_eq!(firstlight(&sandbox, &["verify", "three"]).code, 0);
}

#[test]
fn shards_that_differ_are_rejected_with_the_name_of_the_difference() {
    let sandbox = Sandbox::new();
    shards(&sandbox);
    let folder = |name: &str| sandbox.path().join(name);
    let changed = |name: &str, change: &dyn Fn(&mut Origin)| {
        resealed(&folder("b"), &folder(name), |origin| change(origin));
        let text = refused(&sandbox, &["a", name], 2);
        let (_, rest) = text.split_once("cannot merge: `").unwrap();
        rest.split_once('`').unwrap().0.to_owned()
    };
    let hardware = changed("cpu", &|origin| origin.machine.cpu = Some("other".to_owned()));
    assert_eq!(hardware, "hardware.cpu");
    assert_eq!(changed("cores", &|origin| origin.machine.cores = Some(99)), "hardware.cores");
    assert_eq!(changed("processes", &|origin| origin.choice.processes = None), "processes");
    assert_eq!(changed("arms", &|origin| origin.choice.arms = vec!["one".to_owned()]), "arms");
    let setting = |origin: &mut Origin| {
        origin.choice.set = [("count".to_owned(), Scalar::typed("5"))].into();
    };
    assert_eq!(changed("set", &setting), "set");
    let version = |origin: &mut Origin| "9.9".clone_into(&mut origin.firstlight.build.version);
    assert_eq!(changed("version", &version), "firstlight");
    let package = |origin: &mut Origin| {
        origin.environment.packages = [("numpy".to_owned(), "1.0".to_owned())].into();
    };
    assert_eq!(changed("package", &package), "packages.numpy");

    write_suite(&sandbox, 30);
    shard(&sandbox, "other", &[]);
    let text = refused(&sandbox, &["a", "other"], 2);
    assert!(text.contains("`suite/suite.toml` differs"), "{text}");
}

#[test]
fn the_words_of_a_refused_merge_are_frozen() {
    let sandbox = Sandbox::new();
    shards(&sandbox);
    let folder = |name: &str| sandbox.path().join(name);
    resealed(&folder("b"), &folder("elsewhere"), |origin| origin.machine.cores = Some(99));
    resealed(&folder("a"), &folder("here"), |origin| origin.machine.cores = Some(2));
    insta::assert_snapshot!("different_cores", refused(&sandbox, &["here", "elsewhere"], 2));
    insta::assert_snapshot!("same_shard_twice", refused(&sandbox, &["a", "b", "a"], 2));
    resealed(&folder("a"), &folder("copy"), |origin| "copied".clone_into(&mut origin.argv[0]));
    insta::assert_snapshot!("same_processes", refused(&sandbox, &["a", "copy"], 2));
    fs::remove_file(folder("b/manifest.json")).unwrap();
    insta::assert_snapshot!("not_sealed", refused(&sandbox, &["a", "b"], 2));
    let raw = fs::read_to_string(folder("here/raw.jsonl")).unwrap();
    fs::write(folder("here/raw.jsonl"), raw.replacen("\"number\":1,", "\"number\":7,", 1)).unwrap();
    let text = refused(&sandbox, &["a", "here"], 6);
    assert!(
        text.contains("cannot merge `here`: it changed after it was sealed: raw.jsonl"),
        "{text}"
    );
    assert_eq!(refused(&sandbox, &["a", "nowhere"], 2).lines().count(), 1);
}

#[test]
fn a_merged_snapshot_whose_shards_were_touched_does_not_verify() {
    let sandbox = Sandbox::new();
    shards(&sandbox);
    assert_eq!(merged(&sandbox, &["a", "b", "--output", "both"]).code, 0);
    let path = sandbox.path().join("both/shards.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let (first, second) = text.trim_end().split_once('\n').unwrap();
    fs::write(&path, format!("{second}\n{first}\n")).unwrap();
    let finished = firstlight(&sandbox, &["verify", "both"]);
    assert_eq!(finished.code, 6);
    assert!(finished.stdout.contains("fail         inventory"), "{}", finished.stdout);
}
