//! The files of a suite's folder that are included in a snapshot.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::snapshot::firstlight;
use crate::support::Sandbox;

const SUITE: &str = r#"
name = "small"
environment = "as-found"
regimes = ["cold-clean"]
[comparison]
verdicts = false
[[case]]
name = "only"
[[arm]]
name = "only"
workload = "work.py"
"#;

const WORKLOAD: &str = "\
import firstlight
def setup(case):
    return firstlight.Workload(sum, ([1, 2],))
";

fn write_suite(sandbox: &Sandbox) {
    sandbox.file("suite/suite.toml", SUITE);
    sandbox.file("suite/work.py", WORKLOAD);
}

fn names(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            names(&entry.path(), &format!("{name}/"), found);
        } else {
            found.push(name);
        }
    }
    found.sort();
}

#[test]
fn secrets_links_and_earlier_results_stay_out_of_a_snapshot_and_its_files_are_listed() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    for (name, text) in [
        (".env", "TOKEN=planted-secret"),
        (".git/config", "planted-secret"),
        ("vendored/.git/config", "planted-secret"),
        ("credentials.json", "planted-secret"),
        ("runs/0/raw.jsonl", "planted-secret"),
        ("runs/0/result.json", "planted-secret"),
    ] {
        sandbox.file(&format!("suite/{name}"), text);
    }
    let outside = sandbox.file("outside.py", "planted-secret");
    symlink(outside, sandbox.path().join("suite/link.py")).unwrap();
    symlink("..", sandbox.path().join("suite/up")).unwrap();
    let finished = firstlight(&sandbox, &["run", "suite", "--processes", "2", "--output", "run"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let listed = "packed 2 files of the suite";
    assert!(finished.stderr.contains(listed), "{}", finished.stderr);
    assert!(finished.stderr.contains("suite.toml, work.py"), "{}", finished.stderr);
    let mut packed = Vec::new();
    names(&sandbox.path().join("run/suite"), "", &mut packed);
    assert_eq!(packed, ["suite.toml", "work.py"]);
    let mut all = Vec::new();
    names(&sandbox.path().join("run"), "", &mut all);
    for name in all {
        let content = fs::read(sandbox.path().join("run").join(&name)).unwrap();
        assert!(!String::from_utf8_lossy(&content).contains("planted-secret"), "{name}");
    }
}

#[test]
fn results_inside_the_suites_own_folder_verify_and_do_not_grow() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    let mut sizes = Vec::new();
    for number in ["1", "2", "3"] {
        let mut command = sandbox.firstlight();
        command.current_dir(sandbox.path().join("suite"));
        command.args(["run", ".", "--processes", "2", "--output", &format!("runs/{number}")]);
        let finished = crate::support::Finished::new(command);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        let run = format!("suite/runs/{number}");
        assert_eq!(firstlight(&sandbox, &["verify", &run]).code, 0);
        let mut packed = Vec::new();
        names(&sandbox.path().join(&run).join("suite"), "", &mut packed);
        sizes.push(packed.len());
    }
    assert_eq!(sizes, [2, 2, 2]);
}

#[test]
fn a_suite_that_is_edited_while_it_is_measured_leaves_a_snapshot_that_fails() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    // The workload changes its own source, like an editor.
    let edits = format!("{WORKLOAD}\nopen(__file__, 'a').write('# edited\\n')\n");
    sandbox.file("suite/work.py", &edits);
    let finished = firstlight(&sandbox, &["run", "suite", "--processes", "2", "--output", "run"]);
    assert_eq!(finished.code, 6, "{}", finished.stderr);
    let words = "the suite changed while it was measured: work.py";
    assert!(finished.stderr.contains(words), "{}", finished.stderr);
    assert_eq!(firstlight(&sandbox, &["verify", "run"]).code, 6);
}

#[test]
fn a_suite_whose_files_are_too_large_is_rejected_with_their_names() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox);
    let large = sandbox.file("suite/generated.py", "");
    fs::File::options().write(true).open(large).unwrap().set_len(40 << 20).unwrap();
    let finished = firstlight(&sandbox, &["run", "suite", "--processes", "2"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("generated.py (41943040 bytes)"), "{}", finished.stderr);
    assert!(finished.stderr.contains("hint: "), "{}", finished.stderr);
}
