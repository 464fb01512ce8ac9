//! Reading, validating, patching and rearranging workspaces.

use std::collections::BTreeMap;

use histfactory::Workspace;
use histfactory::workspace::{
    Effect, Join, Modifier, ModifierType, Patch, PatchSet, Pruning, Renaming, WorkspaceError,
};
use serde_json::{Value, json};

/// Two channels, all seven modifiers.
fn document() -> Value {
    json!({
        "channels": [
            {"name": "SR", "samples": [
                {"name": "signal", "data": [5.0, 6.0], "modifiers": [
                    {"name": "mu", "type": "normfactor", "data": null},
                    {"name": "lumi", "type": "lumi", "data": null},
                    {"data": {"hi": 1.1, "lo": 0.9}, "name": "theory", "type": "normsys"}
                ]},
                {"name": "background", "data": [50, 60], "modifiers": [
                    {"name": "jes", "type": "histosys",
                     "data": {"hi_data": [51.0, 62.0], "lo_data": [49.0, 58.0]}},
                    {"name": "jes", "type": "normsys", "data": {"hi": 1.02, "lo": 0.98}},
                    {"name": "stat", "type": "staterror", "data": [2.0, 3.0]},
                    {"name": "fakes", "type": "shapesys", "data": [5.0, 6.0]}
                ]}
            ]},
            {"name": "CR", "samples": [
                {"name": "background", "data": [500.0], "modifiers": [
                    {"name": "shape", "type": "shapefactor", "data": null}
                ]}
            ]}
        ],
        "observations": [{"name": "SR", "data": [55, 66]}, {"name": "CR", "data": [510]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "lumi", "inits": [1.0], "bounds": [[0.5, 1.5]], "auxdata": [1.0],
             "sigmas": [0.02], "fixed": true}
        ]}}],
        "version": "1.0.0"
    })
}

fn read(document: &Value) -> Result<Workspace, WorkspaceError> {
    Workspace::from_slice(document.to_string().as_bytes())
}

fn workspace() -> Workspace {
    read(&document()).expect("the document is a valid workspace")
}

/// The error message of a document with one wrong value.
fn message(pointer: &str, value: Value) -> String {
    let mut document = document();
    *document.pointer_mut(pointer).expect("the place exists") = value;
    read(&document).expect_err("it was broken").to_string()
}

#[test]
fn a_workspace_is_the_same_after_writing_and_reading() {
    let workspace = workspace();
    assert_eq!(workspace.to_json().parse::<Workspace>().unwrap(), workspace);
    assert_eq!(Workspace::from_value(&workspace.to_value()).unwrap(), workspace);
}

#[test]
fn keys_may_come_in_any_order() {
    let workspace = workspace();
    let theory = &workspace.channels[0].samples[0].modifiers[2];
    let expected =
        Modifier { name: "theory".to_owned(), effect: Effect::Normsys { lo: 0.9, hi: 1.1 } };
    assert_eq!(*theory, expected);
}

#[test]
fn errors_name_channel_sample_and_modifier() {
    let samples = "/channels/0/samples";
    let cases = [
        (
            format!("{samples}/1/modifiers/0/data/hi_data"),
            json!([1.0]),
            "channel `SR`, sample `background`, modifier `jes`: `hi_data` has 1 bins, the channel has 2",
        ),
        (
            format!("{samples}/1/modifiers/2/data"),
            json!([1.0, 2.0, 3.0]),
            "channel `SR`, sample `background`, modifier `stat`: `data` has 3 bins, the channel has 2",
        ),
        (
            format!("{samples}/1/data"),
            json!([1.0]),
            "channel `SR`, sample `background`: `data` has 1 bins, sample `signal` has 2",
        ),
        (
            format!("{samples}/1/data/1"),
            json!("many"),
            "channel `SR`, sample `background`: entry 1 of `data` must be a number, not a string",
        ),
        (
            format!("{samples}/0/modifiers/0/type"),
            json!("normfator"),
            "channel `SR`, sample `signal`, modifier `mu`: there is no modifier type `normfator`; \
             did you mean `normfactor`?",
        ),
        (
            format!("{samples}/0/modifiers/0/data"),
            json!(1.0),
            "channel `SR`, sample `signal`, modifier `mu`: `data` of a normfactor is null, not 1.0",
        ),
        (
            format!("{samples}/0/modifiers/2/data"),
            json!({"hi": 1.0}),
            "channel `SR`, sample `signal`, modifier `theory`: `lo` is missing",
        ),
        (
            format!("{samples}/0/modifiers/2/data"),
            json!({"hi": 1.0, "lo": 1.0, "low": 1.0}),
            "channel `SR`, sample `signal`, modifier `theory`: there is no key `low` here; \
             did you mean `lo`?",
        ),
        (
            format!("{samples}/0/modifiers/1/name"),
            json!("luminosity"),
            "channel `SR`, sample `signal`, modifier `luminosity`: a lumi modifier is called `lumi`",
        ),
        (
            format!("{samples}/1/name"),
            json!("signal"),
            "channel `SR`: there are two samples `signal`",
        ),
        (
            "/observations/0/name".to_owned(),
            json!("VR"),
            "channel `SR`: there is no observation of this channel",
        ),
        (
            "/observations/0/data".to_owned(),
            json!([1]),
            "channel `SR`: the observation has 1 bins, the channel has 2",
        ),
        ("/version".to_owned(), json!("2.0.0"), "`version` is \"2.0.0\", only \"1.0.0\" is known"),
        ("/channels".to_owned(), json!([]), "`channels` is empty"),
        (
            "/measurements/0/config/parameters/0/bounds".to_owned(),
            json!([[0.0]]),
            "measurement `m`, parameter `lumi`: entry 0 of `bounds` is not a pair of numbers",
        ),
        (
            "/measurements/0/config/parameters/0/fixed".to_owned(),
            json!("yes"),
            "measurement `m`, parameter `lumi`: `fixed` must be true or false, not a string",
        ),
    ];
    for (pointer, value, expected) in cases {
        assert_eq!(message(&pointer, value), expected, "{pointer}");
    }
}

#[test]
fn an_unknown_key_is_rejected_as_by_the_schema() {
    let mut document = document();
    document["channels"][0]["sample"] = json!([]);
    let error = read(&document).unwrap_err().to_string();
    assert_eq!(error, "channel `SR`: there is no key `sample` here; did you mean `samples`?");
}

#[test]
fn numbers_that_json_does_not_allow_are_located() {
    let text = document().to_string().replacen("5.0,6.0", "NaN,6.0", 1);
    let error = text.parse::<Workspace>().unwrap_err().to_string();
    let expected = "channel `SR`, sample `signal`: entry 0 of `data` must be a number, not NaN";
    assert!(error.starts_with(expected), "{error}");
    let error = "[1, 2".parse::<Workspace>().unwrap_err();
    assert!(matches!(error, WorkspaceError::Syntax(_)), "{error}");
}

#[test]
fn a_workspace_made_in_code_passes_the_same_checks() {
    let mut workspace = workspace();
    workspace.channels[1].samples[0].data[0] = f64::INFINITY;
    let error = workspace.validate().unwrap_err().to_string();
    assert_eq!(error, "channel `CR`, sample `background`: entry 0 of `data` is inf");
}

#[test]
fn modifiers_share_a_parameter_only_with_the_same_requirements() {
    let shared = |name: &str, modifier: Value| {
        let mut document = document();
        let modifiers = &mut document["channels"][1]["samples"][0]["modifiers"];
        *modifiers = json!([{"name": name, "type": modifier["type"], "data": modifier["data"]}]);
        read(&document).err().map(|error| error.to_string())
    };
    let normsys = json!({"type": "normsys", "data": {"lo": 0.9, "hi": 1.1}});
    assert_eq!(shared("jes", normsys.clone()), None);
    assert_eq!(shared("mu", json!({"type": "normfactor", "data": null})), None);
    let error = shared("mu", normsys).unwrap();
    assert_eq!(
        error,
        "channel `CR`, sample `background`, modifier `mu`: \
         a normsys here, a normfactor in channel `SR`, sample `signal`: they cannot share it"
    );
    let error = shared("fakes", json!({"type": "shapesys", "data": [1.0]})).unwrap();
    assert!(error.contains("a shapesys cannot be shared"), "{error}");
    let error = shared("mu", json!({"type": "shapefactor", "data": null})).unwrap();
    assert!(error.contains("a shapefactor here, a normfactor in"), "{error}");
    assert_eq!(shared("stat", json!({"type": "staterror", "data": [1.0]})), None);
}

#[test]
fn samples_share_a_staterror_in_the_same_channels() {
    let mut document = document();
    let stat = json!({"name": "stat", "type": "staterror", "data": [1.0]});
    document["channels"][1]["samples"][0]["modifiers"].as_array_mut().unwrap().push(stat);
    let wide = json!({"name": "stat", "type": "staterror", "data": [1.0, 1.0]});
    document["channels"][0]["samples"][0]["modifiers"].as_array_mut().unwrap().push(wide);
    let error = read(&document).unwrap_err().to_string();
    assert!(error.contains("carry it in the same channels"), "{error}");
}

#[test]
fn a_measurement_must_fit_the_model() {
    let checked = |parameters: Value, poi: &str| {
        let mut document = document();
        document["measurements"][0]["config"] = json!({"poi": poi, "parameters": parameters});
        let workspace = read(&document).unwrap();
        let measurement = workspace.measurement(None).unwrap();
        workspace.check_measurement(measurement).err().map(|error| error.to_string())
    };
    let lumi = json!({"name": "lumi", "inits": [1.0], "bounds": [[0.5, 1.5]], "auxdata": [1.0],
                      "sigmas": [0.02]});
    assert_eq!(checked(json!([lumi]), "mu"), None);
    assert_eq!(checked(json!([lumi, {"name": "elsewhere", "inits": [1.0]}]), "mu"), None);
    let cases = [
        (
            json!([]),
            "mu",
            "measurement `m`, parameter `lumi`: \
             a luminosity needs `inits`, `bounds`, `auxdata`, `sigmas`",
        ),
        (
            json!([lumi]),
            "mu_",
            "measurement `m`: the parameter of interest `mu_` is not in the model; \
             did you mean `mu`?",
        ),
        (
            json!([lumi]),
            "stat",
            "measurement `m`: the parameter of interest `stat` has 2 components, it must have one",
        ),
        (
            json!([lumi, {"name": "mu", "inits": [1.0, 2.0]}]),
            "mu",
            "measurement `m`, parameter `mu`: `inits` has 2 entries, the parameter has 1",
        ),
        (
            json!([lumi, {"name": "mu", "sigmas": [1.0]}]),
            "mu",
            "measurement `m`, parameter `mu`: this parameter has no `sigmas`",
        ),
        (
            json!([lumi, {"name": "mu", "bounds": [[2.0, 1.0]]}]),
            "mu",
            "measurement `m`, parameter `mu`: the bounds [2, 1] are not an interval",
        ),
        (json!([lumi, lumi]), "mu", "measurement `m`: there are two settings of `lumi`"),
    ];
    for (parameters, poi, expected) in cases {
        assert_eq!(checked(parameters, poi).as_deref(), Some(expected));
    }
}

#[test]
fn a_measurement_is_selected_by_name_or_is_the_first() {
    let workspace = workspace();
    assert_eq!(workspace.measurement(None).unwrap().name, "m");
    assert_eq!(workspace.measurement(Some("m")).unwrap().name, "m");
    let error = workspace.measurement(Some("n")).unwrap_err();
    assert_eq!(error.to_string(), "there is no measurement `n` in the workspace");
    assert_eq!(error.hint().unwrap(), "the measurements are `m`");
}

#[test]
fn a_patch_changes_the_workspace() {
    let patch = br#"[
        {"op": "test", "path": "/channels/0/name", "value": "SR"},
        {"op": "replace", "path": "/channels/0/samples/0/data", "value": [7, 8.5]},
        {"op": "remove", "path": "/channels/0/samples/1/modifiers/3"},
        {"op": "copy", "from": "/channels/0/samples/0/modifiers/2", "path": "/channels/1/samples/0/modifiers/-"}
    ]"#;
    let patched = workspace().patched(&[Patch::from_slice(patch).unwrap()]).unwrap();
    assert_eq!(patched.channels[0].samples[0].data, [7.0, 8.5]);
    assert_eq!(patched.channels[0].samples[1].modifiers.len(), 3);
    assert_eq!(patched.channels[1].samples[0].modifiers[1].kind(), ModifierType::Normsys);
}

#[test]
fn a_patch_that_does_not_fit_names_the_place() {
    let patch = Patch::from_slice(
        br#"[{"op": "test", "path": "/version", "value": "1.0.0"},
             {"op": "replace", "path": "/channels/7/name", "value": "x"}]"#,
    );
    let error = workspace().patched(&[patch.unwrap()]).unwrap_err().to_string();
    assert!(
        error.starts_with("`replace` at `/channels/7/name`, operation 1 of the patch, cannot"),
        "{error}"
    );
    let patch = Patch::from_slice(br#"[{"op": "remove", "path": "/channels/0/samples/0/data"}]"#);
    let error = workspace().patched(&[patch.unwrap()]).unwrap_err().to_string();
    assert_eq!(error, "channel `SR`, sample `signal`: `data` is missing");
    let error = Patch::from_slice(b"{}").unwrap_err().to_string();
    assert!(error.starts_with("not a JSON patch"), "{error}");
}

/// Undoing the first operation would move the place into itself.
#[test]
fn a_patch_that_cannot_be_undone_changes_nothing_when_it_fails() {
    let data = "/channels/0/samples/0/data";
    let text = json!([
        {"op": "move", "from": format!("{data}/0"), "path": data},
        {"op": "remove", "path": "/nowhere"},
    ]);
    let patch = Patch::from_slice(text.to_string().as_bytes()).unwrap();
    let mut changed = document();
    let error = patch.apply(&mut changed).unwrap_err();
    assert!(matches!(error, WorkspaceError::Patch { index: 1, .. }), "{error}");
    assert_eq!(changed, document());
}

fn patch_set(digest: &str) -> Result<PatchSet, WorkspaceError> {
    let entry = |name: &str, mass: i32| {
        json!({"metadata": {"name": name, "values": [mass]}, "patch": [
            {"op": "replace", "path": "/channels/0/samples/0/data/0", "value": mass}
        ]})
    };
    let set = json!({
        "metadata": {"references": {"hepdata": "ins1234567"}, "description": "signals",
                     "digests": {"sha256": digest}, "labels": ["mass"]},
        "patches": [entry("heavy", 900), entry("light", 100)],
        "version": "1.0.0"
    });
    PatchSet::from_slice(set.to_string().as_bytes())
}

#[test]
fn a_patch_set_applies_to_its_workspace() {
    let document = document();
    let digest = histfactory::workspace::digest(
        &document,
        histfactory::workspace::Algorithm::parse("sha256").unwrap(),
    );
    let set = patch_set(&digest).unwrap();
    let heavy = set.apply(&document, "heavy").unwrap();
    assert_eq!(heavy.channels[0].samples[0].data[0].to_bits(), 900f64.to_bits());
    let error = set.apply(&document, "heavier").unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean `heavy`?");
    let other = patch_set(&"0".repeat(64)).unwrap();
    let error = other.apply(&document, "heavy").unwrap_err();
    assert!(matches!(error, WorkspaceError::Digest { .. }), "{error}");
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
}

#[test]
fn pruning_removes_observations_and_settings_too() {
    let pruning = Pruning {
        channels: names(&["CR"]),
        modifiers: names(&["lumi"]),
        modifier_types: vec![ModifierType::Staterror],
        ..Pruning::default()
    };
    let pruned = workspace().prune(&pruning).unwrap();
    assert_eq!(pruned.channels.len(), 1);
    assert_eq!(pruned.observations.len(), 1);
    assert!(pruned.measurements[0].config.parameters.is_empty());
    let kinds: Vec<_> =
        pruned.channels[0].samples[1].modifiers.iter().map(Modifier::kind).collect();
    assert_eq!(kinds, [ModifierType::Histosys, ModifierType::Normsys, ModifierType::Shapesys]);
    let error = workspace().prune(&Pruning { samples: names(&["sgnal"]), ..Pruning::default() });
    assert_eq!(error.unwrap_err().hint().unwrap(), "did you mean `signal`?");
}

#[test]
fn renaming_reaches_observations_settings_and_the_parameter_of_interest() {
    let renaming = Renaming {
        channels: map(&[("CR", "control")]),
        modifiers: map(&[("mu", "strength")]),
        measurements: map(&[("m", "n")]),
        samples: map(&[("background", "ttbar")]),
    };
    let renamed = workspace().rename(&renaming).unwrap();
    assert_eq!(renamed.observations[1].name, "control");
    assert_eq!(renamed.measurements[0].config.poi, "strength");
    assert_eq!(renamed.measurements[0].name, "n");
    assert_eq!(renamed.channels[0].samples[1].name, "ttbar");
    let clash = Renaming { modifiers: map(&[("mu", "jes")]), ..Renaming::default() };
    assert!(workspace().rename(&clash).is_err());
}

#[test]
fn sorting_orders_everything_by_name() {
    let sorted = workspace().sorted();
    assert_eq!(sorted.channels[0].name, "CR");
    assert_eq!(sorted.observations[0].name, "CR");
    assert_eq!(sorted.channels[1].samples[0].name, "background");
    let modifiers: Vec<_> = sorted.channels[1].samples[0]
        .modifiers
        .iter()
        .map(|modifier| (modifier.name.as_str(), modifier.kind().as_str()))
        .collect();
    let expected =
        [("fakes", "shapesys"), ("jes", "histosys"), ("jes", "normsys"), ("stat", "staterror")];
    assert_eq!(modifiers, expected);
}

#[test]
fn combining_without_a_join_needs_different_names() {
    let left = workspace();
    let error = Workspace::combine(&left, &left, Join::None, false).unwrap_err().to_string();
    assert!(error.ends_with("both have a channel `SR`"), "{error}");
    let renaming = Renaming {
        channels: map(&[("CR", "CR2"), ("SR", "SR2")]),
        modifiers: map(&[("fakes", "fakes2"), ("stat", "stat2")]),
        measurements: map(&[("m", "m2")]),
        ..Renaming::default()
    };
    let right = left.rename(&renaming).unwrap();
    let both = Workspace::combine(&left, &right, Join::None, false).unwrap();
    assert_eq!(both.channels.len(), 4);
    assert_eq!(both.measurements.len(), 2);
}

#[test]
fn outer_joins_merge_equal_parts_and_reject_different_ones() {
    let left = workspace();
    assert_eq!(Workspace::combine(&left, &left, Join::Outer, false).unwrap(), left);
    let mut right = left.clone();
    right.channels[1].samples[0].data[0] = 1.0;
    let error = Workspace::combine(&left, &right, Join::Outer, false).unwrap_err().to_string();
    assert!(error.ends_with("both have a channel `CR`, and they differ"), "{error}");
    assert_eq!(Workspace::combine(&left, &right, Join::LeftOuter, false).unwrap(), left);
    assert_eq!(Workspace::combine(&left, &right, Join::RightOuter, false).unwrap(), right);
}

#[test]
fn merged_channels_have_the_samples_of_both() {
    let left = workspace();
    let mut right =
        left.prune(&Pruning { samples: names(&["signal"]), ..Pruning::default() }).unwrap();
    right.channels[0].samples[0].name = "other".to_owned();
    right.channels[0].samples[0].modifiers.clear();
    right.channels[1].samples[0].name = "other".to_owned();
    right.channels[1].samples[0].modifiers.clear();
    let both = Workspace::combine(&left, &right, Join::Outer, true).unwrap();
    let samples: Vec<_> = both.channels[0].samples.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(samples, ["signal", "background", "other"]);
    assert!(Workspace::combine(&left, &right, Join::None, true).is_err());
}
