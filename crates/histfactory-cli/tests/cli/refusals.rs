//! Rejected input: message, hint and exit code 2; questions without an answer: exit code 3.

use crate::support::Sandbox;

fn refused(sandbox: &Sandbox, code: i32, arguments: &[&str]) -> String {
    let finished = sandbox.run(arguments);
    assert_eq!(finished.code, code, "{}", finished.stderr);
    assert_eq!(finished.stdout, "", "errors are talk, not data");
    finished.stderr
}

#[test]
fn a_missing_file_is_rejected() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(refused(&sandbox, 2, &["fit", "nothing.json"]), @"error: cannot read `nothing.json`: No such file or directory (os error 2)");
}

#[test]
fn an_invalid_workspace_is_rejected_with_all_its_problems() {
    let sandbox = Sandbox::new();
    let text = sandbox.read("small.json");
    sandbox
        .file("bad.json", &text.replacen("normfactor", "normfacter", 1).replace("1.0.0", "2.0.0"));
    insta::assert_snapshot!(refused(&sandbox, 2, &["cls", "bad.json"]), @r#"
    error: `bad.json`: 2 problems
      channel `SR`, sample `signal`, modifier `mu`: there is no modifier type `normfacter`; did you mean `normfactor`?
      `version` is "2.0.0", only "1.0.0" is known
    "#);
    sandbox.file("text.json", "a workspace");
    insta::assert_snapshot!(refused(&sandbox, 2, &["inspect", "text.json"]), @r#"
    error: `text.json`: not a JSON document: expected value at line 1 column 1

    hint: a workspace is a JSON file as pyhf writes it
    "#);
}

#[test]
fn an_unknown_measurement_is_rejected_with_the_known_ones() {
    let sandbox = Sandbox::new();
    let arguments = ["fit", "small.json", "--measurement", "mesurement"];
    insta::assert_snapshot!(refused(&sandbox, 2, &arguments), @r#"
    error: there is no measurement `mesurement` in the workspace

    hint: did you mean `measurement`?
    "#);
}

#[test]
fn an_unknown_parameter_is_rejected() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(refused(&sandbox, 2, &["scan", "small.json", "--parameter", "nu"]), @r#"
    error: there is no parameter `nu`

    hint: `histfactory inspect` lists the parameters
    "#);
    insta::assert_snapshot!(refused(&sandbox, 2, &["fit", "small.json", "--fix", "mu"]), @r#"
    error: --fix takes PARAMETER=VALUE, not `mu`

    hint: see --help
    "#);
}

#[test]
fn a_patch_that_does_not_fit_is_rejected() {
    let sandbox = Sandbox::new();
    sandbox.file("patch.json", r#"[{"op": "remove", "path": "/channels/5"}]"#);
    insta::assert_snapshot!(refused(&sandbox, 2, &["cls", "small.json", "-p", "patch.json"]), @r#"
    error: `patch.json`: `remove` at `/channels/5`, operation 0 of the patch, cannot be done: path is invalid

    hint: is it a patch of this workspace?
    "#);
    sandbox.file("no-patch.json", "{}");
    insta::assert_snapshot!(refused(&sandbox, 2, &["cls", "small.json", "-p", "no-patch.json"]), @"error: `no-patch.json`: not a JSON patch: invalid type: map, expected a sequence at line 1 column 0");
}

#[test]
fn wrong_arguments_are_rejected() {
    let sandbox = Sandbox::new();
    let text = refused(&sandbox, 2, &["upper-limit", "small.json", "--level", "5"]);
    insta::assert_snapshot!(text, @r#"
    error: --level is between 0 and 1, not 5

    hint: see --help
    "#);
    let text = refused(&sandbox, 2, &["scan", "small.json", "--range", "2", "1"]);
    insta::assert_snapshot!(text, @r#"
    error: --range goes up, not from 2 to 1

    hint: see --help
    "#);
    assert_eq!(sandbox.run(&["frobnicate"]).code, 2);
    assert_eq!(sandbox.run(&["--help"]).code, 0);
}

#[test]
fn a_model_that_can_never_explain_the_data_has_no_fit() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "empty.json",
        r#"{"channels": [{"name": "SR", "samples": [{"name": "signal", "data": [0.0], "modifiers":
            [{"name": "mu", "type": "normfactor", "data": null}]}]}],
            "observations": [{"name": "SR", "data": [4]}],
            "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
            "version": "1.0.0"}"#,
    );
    insta::assert_snapshot!(refused(&sandbox, 3, &["fit", "empty.json"]), @"error: the likelihood is infinite wherever the fit may go: counts were seen where none can be");
    insta::assert_snapshot!(refused(&sandbox, 3, &["upper-limit", "empty.json"]), @"error: the likelihood is infinite wherever the fit may go: counts were seen where none can be");
}

#[test]
fn a_tested_value_outside_its_bounds_is_rejected() {
    let sandbox = Sandbox::new();
    for (command, value) in [("cls", "-1"), ("toys", "-1"), ("toys", "1000")] {
        let printed = refused(&sandbox, 2, &[command, "small.json", "--test-poi", value]);
        let expected = format!("--test-poi {value} lies outside of the bounds of `mu`");
        assert!(printed.contains(&expected), "{printed}");
    }
}

#[test]
fn negative_expected_rates_are_reported_with_their_channel_and_bin() {
    let sandbox = Sandbox::new();
    let mut workspace: serde_json::Value =
        serde_json::from_str(&sandbox.read("small.json")).unwrap();
    for sample in workspace["channels"][0]["samples"].as_array_mut().unwrap() {
        sample["data"][0] = (-5.0).into();
    }
    sandbox.file("negative.json", &workspace.to_string());
    let finished = sandbox.run(&["fit", "negative.json"]);
    let expected =
        "warning: channel `SR`: the expected rate at the initial parameters is negative in bin 0";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[test]
fn no_name_of_a_workspace_controls_the_terminal() {
    let sandbox = Sandbox::new();
    let text = sandbox.read("small.json");
    // As JSON writes them: an escape sequence, its one-character form, and reversed text.
    sandbox.file("named.json", &text.replace("\"SR\"", "\"S\\u001b[8m\\u009b31m\\u202eR\""));
    for arguments in
        [&["inspect", "named.json"][..], &["inspect", "named.json", "--format", "json"]]
    {
        let finished = sandbox.run(arguments);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert!(!finished.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{}", finished.stdout);
        assert!(finished.stdout.contains("\\u001b[8m"), "{}", finished.stdout);
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::new();
    // A limit on file sizes simulates a full disk.
    let mut shell = std::process::Command::new("bash");
    let program = env!("CARGO_BIN_EXE_histfactory");
    let script = "ulimit -f 0; exec \"$0\" inspect small.json > out.txt 2> /dev/null";
    let status = shell.current_dir(sandbox.path()).args(["-c", script, program]).status().unwrap();
    assert_eq!(status.code(), Some(1), "{status}");
}
