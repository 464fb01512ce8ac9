//! Pruning, renaming, combining, sorting, digests and patch sets.

use histfactory::Workspace;
use serde_json::json;

use crate::support::Sandbox;

#[test]
fn a_pruned_workspace_is_printed_as_by_pyhf() {
    let sandbox = Sandbox::new();
    let finished = sandbox.run(&["prune", "small.json", "-c", "CR", "-t", "staterror"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let pruned: Workspace = finished.stdout.parse().unwrap();
    assert_eq!(pruned.channels.len(), 1);
    assert!(finished.stdout.starts_with("{\n    \"channels\": [\n        {\n"));
}

#[test]
fn a_renamed_workspace_gives_the_same_answer() {
    let sandbox = Sandbox::new();
    let arguments = ["rename", "small.json", "-m", "mu", "strength", "--output-file", "new.json"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    let (old, new) =
        (sandbox.document(&["cls", "small.json"]), sandbox.document(&["cls", "new.json"]));
    assert_eq!(old["CLs_obs"], new["CLs_obs"]);
    assert_eq!(new["poi"], "strength");
}

#[test]
fn two_workspaces_are_combined() {
    let sandbox = Sandbox::new();
    let rename = [
        "rename",
        "search.json",
        "--measurement",
        "measurement",
        "other",
        "-m",
        "mu",
        "mu_search",
        "--output-file",
        "other.json",
    ];
    assert_eq!(sandbox.run(&rename).code, 0);
    let finished = sandbox.run(&["combine", "small.json", "other.json"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let both: Workspace = finished.stdout.parse().unwrap();
    assert_eq!(both.channels.len(), 5);
    let finished = sandbox.run(&["combine", "small.json", "small.json"]);
    assert_eq!(finished.code, 2);
    insta::assert_snapshot!(finished.stderr, @r#"
    error: the workspaces cannot be combined: both have a channel `SR`

    hint: rename what clashes, or join with `outer` or `left outer`
    "#);
    let joined = sandbox.run(&["combine", "small.json", "small.json", "--join", "left outer"]);
    assert_eq!(joined.code, 0);
    assert_eq!(joined.stdout.parse::<Workspace>().unwrap(), sandbox.workspace("small.json"));
}

#[test]
fn sorting_does_not_change_the_likelihood() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["sort", "small.json", "--output-file", "sorted.json"]).code, 0);
    let fit = |file| sandbox.document(&["fit", file])["twice_nll"].as_f64().unwrap();
    assert!((fit("small.json") - fit("sorted.json")).abs() < 1e-10);
}

/// The digest is that of `pyhf digest`.
#[test]
fn digests_do_not_depend_on_the_layout_of_the_file() {
    let sandbox = Sandbox::new();
    let compact = sandbox.workspace("small.json").to_value().to_string();
    sandbox.file("compact.json", &compact);
    let digest = |file| sandbox.run(&["digest", file, "-a", "md5"]).stdout;
    assert_eq!(digest("small.json"), digest("compact.json"));
    assert_eq!(digest("small.json"), "md5:02d5c38aba50760c0387ba1e37cfe380\n");
}

#[test]
fn a_patch_set_is_listed_extracted_verified_and_applied() {
    let sandbox = Sandbox::new();
    let digest = sandbox.run(&["digest", "small.json"]).stdout;
    let digest = digest.trim().strip_prefix("sha256:").unwrap();
    let patch =
        json!([{"op": "replace", "path": "/channels/0/samples/0/data", "value": [1.0, 2.0]}]);
    let set = json!({
        "metadata": {"references": {"hepdata": "ins1234567"}, "description": "d",
                     "digests": {"sha256": digest}, "labels": ["mass"]},
        "patches": [{"metadata": {"name": "light", "values": [100]}, "patch": patch}],
        "version": "1.0.0"
    });
    sandbox.file("set.json", &set.to_string());
    let list = sandbox.run(&["patchset", "extract", "set.json"]);
    assert_eq!(list.stdout, "name: mass\nlight: 100\n");
    let extracted = sandbox.run(&["patchset", "extract", "set.json", "--name", "light"]);
    sandbox.file("light.json", &extracted.stdout);
    assert_eq!(sandbox.run(&["patchset", "verify", "small.json", "set.json"]).code, 0);
    assert_eq!(sandbox.run(&["patchset", "verify", "search.json", "set.json"]).code, 2);
    let applied = ["patchset", "apply", "small.json", "set.json", "--name", "light"];
    let applied: Workspace = sandbox.run(&applied).stdout.parse().unwrap();
    assert_eq!(applied.channels[0].samples[0].data, [1.0, 2.0]);
    let by_patch = sandbox.document(&["cls", "small.json", "-p", "light.json"]);
    let by_name =
        sandbox.document(&["cls", "small.json", "-p", "set.json", "--patch-name", "light"]);
    assert_eq!(by_patch, by_name);
}
