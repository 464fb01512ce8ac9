//! Every document has the shape that its JSON Schema describes.

use std::path::Path;

use crate::support::Sandbox;

#[test]
fn every_document_follows_its_schema() {
    let sandbox = Sandbox::new();
    sandbox.write_patch_set(false);
    let commands: [&[&str]; 16] = [
        &["inspect", "small.json"],
        &["fit", "small.json"],
        &["fit", "small.json", "--minos", "mu"],
        &["fit", "small.json", "--fix", "mu=0"],
        &["cls", "small.json"],
        &["cls", "small.json", "--calctype", "toybased", "--toys", "50"],
        &["upper-limit", "small.json"],
        &["significance", "small.json"],
        &["significance", "small.json", "--asimov", "--yields"],
        &["scan", "small.json", "--points", "3"],
        &["rank", "small.json"],
        &["rank", "search.json"],
        &["toys", "small.json", "--toys", "20"],
        &["toys", "small.json", "--toys", "20", "--test-stat", "q0"],
        &["toys", "small.json", "--toys", "20", "--test-stat", "qtilde"],
        &["limits", "small.json", "--patchset", "patchset.json"],
    ];
    let shards = [
        &["toys", "small.json", "--toys", "9", "--shard", "1/3"][..],
        &["toys", "small.json", "--toys", "9", "--test-stat", "q", "--shard", "2/3"],
        &["limits", "small.json", "--patchset", "patchset.json", "--shard", "1/1"],
    ];
    let mut seen = std::collections::BTreeSet::new();
    let documents = commands.map(|command| (command, sandbox.document(command)));
    let shards = shards.map(|command| {
        let finished = sandbox.run(&[command, &["--output-file", "shard.json"]].concat());
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        (command, serde_json::from_str(&sandbox.read("shard.json")).unwrap())
    });
    for (command, document) in documents.into_iter().chain(shards) {
        let name = document["schema"]["name"].as_str().unwrap().to_owned();
        let (_, schema) = histfactory_cli::schemas().find(|(known, _)| *known == name).unwrap();
        let schema = jsonschema::validator_for(schema.as_value()).unwrap();
        let errors: Vec<String> = schema.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{command:?}: {errors:?}");
        assert!(!schema.is_valid(&serde_json::json!({"schema": document["schema"]})));
        seen.insert(name);
    }
    let all = histfactory_cli::schemas().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(seen, all, "a document is not tried here");
}

#[test]
fn the_published_schemas_match_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for (name, schema) in histfactory_cli::schemas() {
        let text = std::fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
        let published: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(&published, schema.as_value(), "{name}: run `cargo xtask generate`");
    }
}
