//! Secrets and names stay on the machine; the checks of a snapshot cover all of it.

use std::fs;
use std::path::Path;

use firstlight_schema::snapshot::Manifest;
use minisign::KeyPair;
use serde_json::Value;

use crate::snapshot::{firstlight, measured};
use crate::support::{Finished, Sandbox};

fn all_text(folder: &Path) -> String {
    fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| match entry.path() {
            path if path.is_dir() => all_text(&path),
            path => String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned(),
        })
        .collect()
}

fn manifest(folder: &Path) -> Manifest {
    serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn variables_and_arguments_that_hold_secrets_are_not_published() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.firstlight();
    for name in ["TORCH_HUB_CREDS", "JAX_COORDINATOR_ADDRESS", "CUDA_API_KEY", "TORCH_TOKEN"] {
        command.env(name, "planted-one");
    }
    command.env("JAX_PLATFORMS", "ghp_planted0123456").env("OMP_NUM_THREADS", "3");
    command.args(["cold", "--runs", "2", "--output", "run", "--"]);
    command.args(["sh", "-c", "test $2 = planted-two", "sh", "--token", "planted-two"]);
    command.arg("--api-key=planted-three");
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "the command itself gets its secret: {}", finished.stderr);
    let folder = sandbox.path().join("run");
    let text = all_text(&folder);
    for secret in ["planted-one", "ghp_planted", "planted-three", "TORCH_HUB_CREDS"] {
        assert!(!text.contains(secret), "{secret}");
    }
    // The comparison is part of the command; the value after --token is not.
    let argv = manifest(&folder).origin.argv;
    assert!(argv.contains(&"(redacted)".to_owned()), "{argv:?}");
    assert!(argv.contains(&"--api-key=(redacted)".to_owned()), "{argv:?}");
    assert_eq!(manifest(&folder).origin.variables["OMP_NUM_THREADS"].as_deref(), Some("3"));
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 0);
}

#[test]
fn a_redacted_snapshot_has_no_names_and_says_what_it_contains() {
    let sandbox = Sandbox::new();
    let home = sandbox.path().join("home/somebody");
    fs::create_dir_all(&home).unwrap();
    let script = home.join("fails.py");
    fs::write(&script, "import sys; sys.exit(0)\n").unwrap();
    let measure = |arguments: &[&str]| {
        let mut command = sandbox.firstlight();
        command.env("HOME", &home).env("USER", "somebody").args(["cold", "--runs", "2"]);
        command.args(arguments).args(["--", "python3"]).arg(&script);
        Finished::new(command)
    };
    let plain = measure(&["--output", "plain"]);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    assert!(plain.stderr.contains("the snapshot contains: host name"), "{}", plain.stderr);
    assert!(manifest(&sandbox.path().join("plain")).privacy.is_some_and(|found| found.paths > 0));
    let redacted = measure(&["--output", "redacted", "--redact"]);
    assert_eq!(redacted.code, 0, "{}", redacted.stderr);
    let found = manifest(&sandbox.path().join("redacted")).privacy.unwrap();
    assert!(!found.user_name && !found.home_folder && found.output == 0, "{found:?}");
    for file in ["raw.jsonl", "result.json", "manifest.json", "suite/suite.toml", "CITATION.cff"] {
        let text = fs::read_to_string(sandbox.path().join("redacted").join(file)).unwrap();
        assert!(!text.contains("somebody"), "{file}: {text}");
    }
    assert_eq!(firstlight(&sandbox, &["verify", "redacted"]).code, 0);
}

#[test]
fn a_redacted_function_and_a_redacted_input_have_no_names() {
    let sandbox = Sandbox::new();
    let home = sandbox.path().join("home/somebody");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("f.py"), "def f(x):\n    return x\n").unwrap();
    fs::write(home.join("input.txt"), "planted-input").unwrap();
    let function = format!("{}:f", home.join("f.py").display());
    let input = home.join("input.txt").display().to_string();
    let key = "'hf_planted0123456789abcdefghij'";
    let warm = ["warm", "--processes", "2", "--within", "20ms", &function, "--args", key];
    let cold = ["cold", "--runs", "2", "--stdin", &input, "--", "grep", "planted-input"];
    let relative = ["cold", "--runs", "2", "--", "cat", "home/somebody/f.py"];
    for (output, arguments) in [("w", &warm[..]), ("c", &cold[..]), ("r", &relative[..])] {
        let mut command = sandbox.firstlight();
        command.env("HOME", &home).env("USER", "somebody");
        // Everything after `--` belongs to the command.
        command.args(&arguments[..3]).args(["--redact", "--output", output]).args(&arguments[3..]);
        let finished = Finished::new(command);
        assert_eq!(finished.code, 0, "it is started with the real path: {}", finished.stderr);
        let text = all_text(&sandbox.path().join(output));
        assert!(!text.contains("somebody"), "{output}");
        assert!(!text.contains("hf_planted"), "{output}");
        assert_eq!(firstlight(&sandbox, &["verify", output]).code, 0);
    }
}

const SUITE: &str = "name = \"s\"\nenvironment = \"as-found\"\nregimes = [\"cold-clean\"]\n\
                     [comparison]\nverdicts = false\n[[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\n";

#[test]
fn a_suite_that_would_publish_a_secret_is_rejected_with_its_place() {
    let login = "--extra-index-url https://me:planted@host/simple\n";
    for (arm, file, place) in [
        ("process = [\"true\", \"--token\", \"planted\"]", "", "the value of `--token` in arm `a`"),
        ("process = [\"sh\", \"-c\", \"true --api-key planted\"]", "", "word 3 of the command"),
        ("process = [\"true\"]\nvariables = { MY_TOKEN = \"planted\" }", "", "`MY_TOKEN`"),
        ("process = [\"true\"]", "KEY = 'ghp_planted0123456789abcdef'\n", "`extra.py:2`"),
        ("process = [\"true\"]", login, "`extra.py:2`"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("suite/suite.toml", &format!("{SUITE}{arm}\n"));
        sandbox.file("suite/extra.py", &format!("# {place}\n{file}"));
        let refused = firstlight(&sandbox, &["run", "suite", "--processes", "2"]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(place), "{}", refused.stderr);
        assert!(refused.stderr.contains("hint: ") && !refused.stderr.contains("planted"));
        assert!(!sandbox.path().join("runs").exists(), "nothing was written");
    }
}

#[test]
fn a_secret_parameter_on_the_command_line_is_rejected() {
    let sandbox = Sandbox::new();
    let parameters = "[parameters]\nlogin = \"none\"\nn = 1\n";
    let suite = SUITE.replace("[comparison]", &format!("{parameters}[comparison]"));
    sandbox.file("suite/suite.toml", &format!("{suite}process = [\"true\"]\n"));
    let key = "login=ghp_planted0123456789";
    let refused = firstlight(&sandbox, &["run", "suite", "--processes", "2", "--set", key]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("`--set`") && !refused.stderr.contains("planted"));
    let kept = firstlight(&sandbox, &["run", "suite", "--processes", "2", "--set", "n=3"]);
    assert_eq!(kept.code, 0, "{}", kept.stderr);
}

#[test]
fn a_suite_reads_its_secret_from_a_variable_that_is_not_recorded() {
    let sandbox = Sandbox::new();
    let process = "process = [\"sh\", \"-c\", \"test ${#MY_TOKEN} = 9\"]";
    sandbox.file("suite/suite.toml", &format!("{SUITE}{process}\n"));
    let mut command = sandbox.firstlight();
    command.env("MY_TOKEN", "sesame-77").args([
        "run",
        "suite",
        "--processes",
        "2",
        "--output",
        "o",
    ]);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(!all_text(&sandbox.path().join("o")).contains("sesame-77"));
}

#[test]
fn only_a_snapshot_that_verifies_is_signed() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let KeyPair { sk, .. } = KeyPair::generate_unencrypted_keypair().unwrap();
    sandbox.file("key", &sk.to_box(None).unwrap().to_string());
    let path = folder.join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"seed\":1", "\"seed\":2", 1)).unwrap();
    let refused = firstlight(&sandbox, &["snapshot", "run", "--sign", "key"]);
    assert_eq!(refused.code, 6, "{}", refused.stderr);
    assert!(!folder.join("manifest.json.minisig").exists());
}

/// Changes a document of the snapshot; returns the exit code and output of `verify`.
fn forged(file: &str, change: impl FnOnce(&mut Value)) -> Finished {
    let sandbox = Sandbox::new();
    let path = measured(&sandbox).join(file);
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut document);
    fs::write(&path, document.to_string() + "\n").unwrap();
    firstlight(&sandbox, &["verify", "run"])
}

#[test]
fn an_unknown_key_of_the_manifest_fails_its_check() {
    for place in ["", "/origin", "/origin/machine"] {
        let finished = forged("manifest.json", |document| {
            document.pointer_mut(place).unwrap()["endorsed-by"] = "somebody".into();
        });
        assert_eq!(finished.code, 6, "{}", finished.stdout);
        // Readers reject most unknown keys; the check of the manifest reports the others.
        let printed = finished.stdout + &finished.stderr;
        assert!(printed.contains("endorsed-by"), "{place}: {printed}");
    }
}

#[test]
fn every_word_of_the_stored_validation_is_compared_with_the_recomputed_one() {
    let change: [fn(&mut Value); 4] = [
        |document| document["rules"][0]["evidence"] = "all is well".into(),
        |document| document["rules"][5]["outcome"] = "warn".into(),
        |document| document["passed"] = false.into(),
        |document| document["snapshot"] = "sha256:00".into(),
    ];
    for change in change {
        let finished = forged("validation.json", change);
        assert_eq!(finished.code, 6, "{}", finished.stdout);
        assert!(finished.stdout.contains("fail         validation"), "{}", finished.stdout);
    }
}

#[test]
fn an_absurd_date_fails_the_check() {
    let finished = forged("manifest.json", |document| {
        document["origin"]["created"] = "9999-99-99T00:00:00Z".into();
    });
    assert_eq!(finished.code, 6);
    assert!(finished.stdout.contains("/origin/created"), "{}", finished.stdout);
}
