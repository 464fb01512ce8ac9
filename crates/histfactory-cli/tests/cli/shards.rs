//! Shards of toys and limits: joined they are the computation in one piece, and nothing else can be joined.

use std::process::Command;

use histfactory::synthetic::Twin;
use serde_json::Value;

use crate::support::{Finished, Sandbox};

const TEST: [&str; 6] = ["toys", "small.json", "--toys", "50", "--test-stat", "qtilde"];

/// Writes shard K of N to `K.json`.
fn shard(sandbox: &Sandbox, command: &[&str], part: &str) -> String {
    let name = format!("{}.json", part.split('/').next().unwrap());
    let finished = sandbox.run(&[command, &["--shard", part, "--output-file", &name]].concat());
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{}", finished.stderr);
    name
}

fn refused(sandbox: &Sandbox, shards: &[&str]) -> String {
    let finished = sandbox.run(&[&["merge"], shards].concat());
    assert_eq!((finished.code, finished.stdout.as_str()), (2, ""), "{}", finished.stderr);
    finished.stderr
}

#[test]
fn shards_of_a_test_are_bitwise_the_test_in_one_piece() {
    let sandbox = Sandbox::new();
    for stat in ["qtilde", "q0"] {
        let command = [&TEST[..5], &[stat, "--seed", "9"]].concat();
        let names = ["1/3", "2/3", "3/3"].map(|part| shard(&sandbox, &command, part));
        let whole = sandbox.run(&[&command[..], &["--format", "json"]].concat());
        let merged = sandbox.run(&["merge", &names[2], &names[0], &names[1], "--format", "json"]);
        assert_eq!((merged.code, merged.stderr.as_str()), (0, whole.stderr.as_str()));
        assert_eq!(merged.stdout, whole.stdout);
        let text = sandbox.run(&command).stdout;
        assert_eq!(sandbox.run(&["merge", &names[0], &names[1], &names[2]]).stdout, text);
    }
}

#[test]
fn shards_of_fits_are_bitwise_the_fits_in_one_piece() {
    let sandbox = Sandbox::new();
    let command = ["toys", "small.json", "--toys", "41", "--seed", "3", "--test-poi", "1"];
    let names = ["1/2", "2/2"].map(|part| shard(&sandbox, &command, part));
    let whole = sandbox.run(&[&command[..], &["--format", "json"]].concat());
    let merged = sandbox.run(&["merge", &names[0], &names[1], "--format", "json"]);
    assert_eq!(merged.stdout, whole.stdout);
    let shard: Value = serde_json::from_str(&sandbox.read(&names[1])).unwrap();
    assert_eq!((&shard["first"], &shard["count"]), (&20.into(), &21.into()));
}

/// Each fit with its covariance takes 0.8 MB, so 1,000 of them would not fit into the limit.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_fits_to_toys() {
    let sandbox = Sandbox::new();
    sandbox.file("large.json", &Twin::Combination.workspace(1).to_json());
    let toys = "ulimit -d 300000; exec \"$0\" toys large.json --toys 1000 --quiet";
    let mut command = Command::new("sh");
    command.args(["-c", toys, env!("CARGO_BIN_EXE_histfactory")]).current_dir(sandbox.path());
    let finished = Finished::new(command.env("RAYON_NUM_THREADS", "2").output().unwrap());
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.starts_with("1000 toys"), "{}", finished.stdout);
}

#[test]
fn a_test_with_toys_is_that_of_cls() {
    let sandbox = Sandbox::new();
    let test = sandbox.document(&TEST);
    let arguments = ["cls", "small.json", "--calctype", "toybased", "--toys", "50"];
    let cls = sandbox.document(&arguments);
    assert_eq!(test["CLs_obs"]["value"], cls["CLs_obs"]);
    assert_eq!(test["CLs_exp"], cls["CLs_exp"]);
    assert_eq!(test["CLsb"]["value"], cls["CLsb"]);
    let part = |key: &str| test["CLsb"][key].as_f64().unwrap();
    assert!(part("low") <= part("value") && part("value") <= part("high"));
    let error = (part("value") * (1.0 - part("value")) / part("of")).sqrt();
    assert!((part("standard_error") - error).abs() < 1e-15);
}

#[test]
fn what_is_not_a_part_of_the_same_computation_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let names = ["1/3", "2/3", "3/3"].map(|part| shard(&sandbox, &TEST, part));
    let [one, two, three] = names.each_ref().map(String::as_str);
    insta::assert_snapshot!(refused(&sandbox, &[one, three]), @"error: `3.json` is shard 3/3; toys 16 to 32 of 50 are in no shard");
    insta::assert_snapshot!(refused(&sandbox, &[one, two]), @"error: `2.json` is shard 2/3; toys 33 to 49 of 50 are in no shard");
    let copy = sandbox.read(two);
    sandbox.file("copy.json", &copy);
    let text = refused(&sandbox, &[one, two, "copy.json", three]);
    assert!(text.contains("has toys 16 to 32, which `"), "{text}");

    let other = |option: &[&str]| {
        let command = [&TEST[..], option].concat();
        std::fs::rename(sandbox.path().join(two), sandbox.path().join("kept.json")).unwrap();
        shard(&sandbox, &command, "2/3");
        std::fs::rename(sandbox.path().join(two), sandbox.path().join("other.json")).unwrap();
        std::fs::rename(sandbox.path().join("kept.json"), sandbox.path().join(two)).unwrap();
        refused(&sandbox, &[one, "other.json", three])
    };
    insta::assert_snapshot!(other(&["--seed", "2"]), @"error: `other.json` cannot be merged with `1.json`: `seed` is 2 here and 1 there");
    insta::assert_snapshot!(other(&["--test-poi", "2"]), @"error: `other.json` cannot be merged with `1.json`: `test-poi` is 2.0 here and 1.0 there");
    insta::assert_snapshot!(other(&["--normsys", "code1"]), @r#"error: `other.json` cannot be merged with `1.json`: `normsys` is "code1" here and "code4" there"#);
    let search = ["toys", "search.json", "--toys", "50", "--test-stat", "qtilde", "--shard", "2/3"];
    assert_eq!(sandbox.run(&[&search[..], &["--output-file", "model.json"]].concat()).code, 0);
    let text = refused(&sandbox, &[one, "model.json", three]);
    assert!(text.contains("`model.json` cannot be merged with `1.json`: `workspace` is"), "{text}");
}

#[test]
fn a_shard_that_was_changed_or_cut_off_is_refused() {
    let sandbox = Sandbox::new();
    let name = shard(&sandbox, &TEST, "1/1");
    let honest = sandbox.read(&name);
    sandbox.file("forged.json", &honest.replacen("\"failed\": 0", "\"failed\": 1", 1));
    let text = refused(&sandbox, &["forged.json"]);
    assert!(
        text.contains("`forged.json` was changed after it was written: its digest is"),
        "{text}"
    );
    sandbox.file("cut.json", &honest[..honest.len() / 2]);
    assert!(refused(&sandbox, &["cut.json"]).contains("`cut.json` is not a shard: "));
    let text = refused(&sandbox, &["small.json"]);
    assert!(text.contains("`small.json` is not a shard: missing field `schema`"), "{text}");
    let newer = honest.replacen("\"version\": \"1.0\"", "\"version\": \"2.0\"", 1);
    sandbox.file("newer.json", &newer);
    insta::assert_snapshot!(refused(&sandbox, &["newer.json"]), @"error: `newer.json` has version 2.0 of the format, which this histfactory cannot read");
}

#[test]
fn limits_of_a_patch_set_in_shards_are_those_in_one_piece() {
    let sandbox = Sandbox::new();
    sandbox.write_patch_set(true);
    let command = ["limits", "small.json", "--patchset", "patchset.json"];
    let whole = sandbox.run(&[&command[..], &["--format", "json"]].concat());
    assert_eq!(whole.code, 3, "{}", whole.stderr);
    assert!(whole.stderr.contains("1 of 3 signals have no answer"), "{}", whole.stderr);
    let document: Value = serde_json::from_str(&whole.stdout).unwrap();
    assert!(document["signals"][2]["error"].is_string(), "{document}");
    let patched = ["upper-limit", "small.json", "--patch", "patchset.json", "--patch-name", "two"];
    let limit = sandbox.document(&patched);
    assert_eq!(document["signals"][1]["observed"], limit["observed"]);
    assert_eq!(document["signals"][1]["expected"], limit["expected"]);
    let names = ["1/2", "2/2"].map(|part| shard(&sandbox, &command, part));
    let merged = sandbox.run(&["merge", &names[1], &names[0], "--format", "json"]);
    assert_eq!((merged.code, merged.stdout), (3, whole.stdout));
}

#[test]
fn a_machine_without_slurm_is_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    let command = [&TEST[..], &["--on", "slurm", "--folder", "job"]].concat();
    let finished = sandbox.run_with("PATH", sandbox.path().to_str().unwrap(), &command);
    assert_eq!((finished.code, finished.stdout.as_str()), (2, ""));
    insta::assert_snapshot!(finished.stderr, @"
    error: `sbatch` not found: Slurm is not installed on this machine

    hint: run it on a login node of the cluster, or without `--on slurm`
    ");
    assert!(!sandbox.path().join("job").exists());
}
