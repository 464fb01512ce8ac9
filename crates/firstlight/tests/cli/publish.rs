//! `firstlight publish`, through the command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use firstlight_schema::snapshot::Origin;
use tempfile::TempDir;

use crate::resealed::resealed;
use crate::snapshot::firstlight;
use crate::support::{Finished, Sandbox};

const SUITE: &str = "name = \"naps\"\nenvironment = \"as-found\"\nregimes = [\"warm\"]\n\
             cache = { bytecode = \"as-found\" }\nsampling = { timeout = \"30s\" }\n\
             comparison = { control = false }\n\
             warm = { processes = 6, most-processes = 6, iterations = 12, warm-up = 1 }\n\
             [[case]]\nname = \"sleep\"\n[[arm]]\nname = \"nap\"\nworkload = \"w.py\"\n";

const MARKUP: &str = "<script>alert(1)</script>";

/// Runs of one suite on this machine: fast, with a workload ten times as slow, and fast again with another
/// line in it.
struct Runs {
    folder: TempDir,
}

fn runs() -> &'static Runs {
    static MADE: OnceLock<Runs> = OnceLock::new();
    MADE.get_or_init(|| {
        let sandbox = Sandbox::new();
        let folder = tempfile::tempdir().unwrap();
        let pace = sandbox.file("pace", "2");
        sandbox.file("suite/suite.toml", SUITE);
        let workload = format!(
            "import time, firstlight\ndef setup(case):\n    ms = float(open({:?}).read())\n    \
             return firstlight.Workload(lambda: time.sleep(ms / 1000))\n",
            pace.to_str().unwrap()
        );
        sandbox.file("suite/w.py", &workload);
        for (ms, name) in [("2", "quick"), ("20", "slow"), ("2", "edited")] {
            sandbox.file("pace", ms);
            if name == "edited" {
                sandbox.file("suite/w.py", &format!("{workload}# a comment more\n"));
            }
            let output = folder.path().join(name);
            let finished =
                firstlight(&sandbox, &["run", "suite", "--output", output.to_str().unwrap()]);
            assert_eq!(finished.code, 0, "{}", finished.stderr);
        }
        Runs { folder }
    })
}

/// Adds a copy of a run to the sandbox's snapshots, dated on a day of January.
fn add(sandbox: &Sandbox, run: &str, day: u32, change: impl FnOnce(&mut Origin)) -> PathBuf {
    let snapshots = sandbox.path().join("snapshots");
    fs::create_dir_all(&snapshots).unwrap();
    let target = snapshots.join(format!("{day:02}"));
    resealed(&runs().folder.path().join(run), &target, |origin| {
        origin.created = format!("2026-01-{day:02}T10:00:00.000Z");
        change(origin);
    });
    target
}

fn publish(sandbox: &Sandbox) -> Finished {
    firstlight(sandbox, &["publish", "snapshots"])
}

fn page(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path().join("site").join(path)).unwrap()
}

/// The page of the only case.
fn case_page(sandbox: &Sandbox) -> String {
    let mut paths = files(&sandbox.path().join("site")).into_keys();
    let path = paths.find(|path| path.starts_with(sandbox.path().join("site/cases"))).unwrap();
    fs::read_to_string(path).unwrap()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            let modified = entry.metadata().unwrap().modified().unwrap();
            found.insert(entry.path(), (modified, fs::read(entry.path()).unwrap()));
        }
    }
    found
}

#[test]
fn a_regression_is_listed_with_its_evidence_and_a_rejected_snapshot_without_a_number() {
    let sandbox = Sandbox::new();
    add(&sandbox, "quick", 1, |_| {});
    add(&sandbox, "quick", 2, |_| {});
    add(&sandbox, "slow", 3, |_| {});
    let changed = add(&sandbox, "slow", 4, |_| {}).join("result.json");
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, text.replacen("\"mean-ns\":", "\"mean-ns\":1", 1)).unwrap();
    let finished = publish(&sandbox);
    assert_eq!(finished.code, 6, "{}", finished.stderr);
    assert_eq!(finished.stdout, "site/index.html: 3 snapshots, 1 regression; 7 pages written\n");
    assert!(finished.stderr.starts_with("refused: 04: inventory: "), "{}", finished.stderr);

    let index = page(&sandbox, "index.html");
    let regressions = index.split("<caption>What got slower").nth(1).unwrap();
    let row = regressions.split("<tr>").nth(2).unwrap();
    assert!(row.contains("2026-01-03 10:00") && row.contains("2026-01-02 10:00"), "{row}");
    assert!(row.contains(" to ") && row.contains("href=\"snapshots/"), "{row}");
    let refused = index.split("<caption>Rejected snapshots").nth(1).unwrap();
    assert!(refused.contains("inventory: ") && refused.contains("result.json"), "{refused}");
    assert!(!index.contains("2026-01-04"), "nothing that it says is shown");
    let case = case_page(&sandbox);
    assert_eq!(case.matches("class=\"point\"").count(), 3);
    assert_eq!(case.matches("class=\"joined\"").count(), 1);
    assert_eq!(case.matches("badge v-slower").count(), 1);
    assert_eq!(case.matches("class=\"badge ").count(), 2, "each but the first has a verdict");
    assert!(!case.contains("class=\"break\""));
}

#[test]
fn a_line_is_broken_where_the_machine_or_the_harness_is_another() {
    let sandbox = Sandbox::new();
    let elsewhere = |origin: &mut Origin| origin.machine.cpu = Some("another one".to_owned());
    let newer = |origin: &mut Origin| origin.firstlight.build.version = "9.0.0".to_owned();
    add(&sandbox, "quick", 1, |_| {});
    add(&sandbox, "slow", 2, elsewhere);
    add(&sandbox, "quick", 3, |_| {});
    add(&sandbox, "quick", 4, newer);
    let finished = publish(&sandbox);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("4 snapshots, 0 regressions"), "{}", finished.stdout);
    let case = case_page(&sandbox);
    assert_eq!(case.matches("class=\"break\"").count(), 2);
    assert_eq!(case.matches("class=\"point elsewhere\"").count(), 1);
    assert_eq!(case.matches("class=\"joined\"").count(), 1, "1 and 3, on the same machine");
    assert!(case.contains("2026-01-02 10:00: another machine: another one, "));
    assert!(case.contains("2026-01-04 10:00: firstlight 0.1.0, then 9.0.0"));
}

#[test]
fn a_line_is_broken_where_the_suites_files_are_others() {
    let sandbox = Sandbox::new();
    add(&sandbox, "quick", 1, |_| {});
    add(&sandbox, "quick", 2, |_| {});
    let edited = runs().folder.path().join("edited");
    let finished = publish(&sandbox);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(!case_page(&sandbox).contains("class=\"break\""));
    assert!(edited.is_dir());
    add(&sandbox, "edited", 3, |_| {});
    let finished = publish(&sandbox);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let case = case_page(&sandbox);
    assert_eq!(case.matches("class=\"break\"").count(), 1);
    assert!(case.contains("2026-01-03 10:00: the suite"), "{case}");
}

#[test]
fn an_archive_is_a_source_like_a_folder_and_every_page_links_back() {
    let sandbox = Sandbox::new();
    let folder = add(&sandbox, "quick", 1, |_| {});
    let (folder, archive) = (folder.to_str().unwrap(), "snapshots/01.tar.zst");
    let packed = firstlight(&sandbox, &["snapshot", folder, "--archive", "--output", archive]);
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    assert_eq!(publish(&sandbox).code, 0);
    let of_folder = files(&sandbox.path().join("site/snapshots"));
    fs::remove_dir_all(folder).unwrap();
    fs::remove_dir_all(sandbox.path().join("site")).unwrap();
    let finished = publish(&sandbox);
    assert_eq!(finished.stdout, "site/index.html: 1 snapshot, 0 regressions; 5 pages written\n");
    let of_archive = files(&sandbox.path().join("site/snapshots"));
    let content = |(path, (_, content)): (&PathBuf, &(SystemTime, Vec<u8>))| {
        assert!(String::from_utf8_lossy(content).contains("href=\"../index.html\""));
        (path.clone(), content.clone())
    };
    let [one, other] = [of_folder, of_archive].map(|of| of.iter().map(content).collect::<Vec<_>>());
    assert_eq!(one.len(), 1);
    assert!(one == other, "the same snapshot has the same page");
}

#[test]
fn one_more_snapshot_writes_its_page_its_cases_and_the_index_only() {
    let sandbox = Sandbox::new();
    add(&sandbox, "quick", 1, |_| {});
    add(&sandbox, "quick", 2, |origin| origin.suite = "other".to_owned());
    let site = sandbox.path().join("site");
    assert_eq!(publish(&sandbox).code, 0);
    let before = files(&site);
    let again = publish(&sandbox);
    assert_eq!(again.stdout, "site/index.html: 2 snapshots, 0 regressions; 0 pages written\n");
    let state = |path: &&PathBuf| path.ends_with("site.json");
    let unchanged = files(&site);
    assert!(before.iter().all(|(path, one)| state(&path) || unchanged[path] == *one));

    add(&sandbox, "quick", 3, |_| {});
    let third = publish(&sandbox);
    assert_eq!(third.stdout, "site/index.html: 3 snapshots, 0 regressions; 5 pages written\n");
    let after = files(&site);
    let changed = after.iter().filter(|(path, one)| before.get(*path) != Some(*one));
    let mut changed: Vec<String> = changed
        .map(|(path, _)| path.strip_prefix(&site).unwrap().to_string_lossy().into_owned())
        .collect();
    changed.sort();
    assert!(changed[0].starts_with("cases/naps-"), "{changed:?}");
    assert_eq!(changed[1..4], ["compare.html", "index.html", "site.json"]);
    assert!(changed[4].starts_with("snapshots/") && changed[5] == "table.html", "{changed:?}");
    assert_eq!(changed.len(), 6, "{changed:?}");

    fs::remove_dir_all(site.join("cases")).unwrap();
    assert!(publish(&sandbox).stdout.ends_with("2 pages written\n"), "what is missing is made");
    fs::remove_dir_all(&site).unwrap();
    assert_eq!(publish(&sandbox).code, 0);
    let content = |of: BTreeMap<PathBuf, (SystemTime, Vec<u8>)>| -> Vec<_> {
        of.into_iter().map(|(path, (_, content))| (path, content)).collect()
    };
    assert!(content(files(&site)) == content(after), "made at once or one by one, the same bytes");
}

#[test]
fn malicious_names_stay_text() {
    let sandbox = Sandbox::new();
    add(&sandbox, "quick", 1, |origin| {
        origin.suite = format!("../{MARKUP}\"");
        origin.machine.cpu = Some(format!("' onload=x {MARKUP}"));
        origin.machine.kernel = Some(MARKUP.to_owned());
    });
    add(&sandbox, "quick", 2, |origin| origin.created = MARKUP.to_owned());
    let finished = publish(&sandbox);
    assert_eq!(finished.code, 6, "a snapshot without a time has no place: {}", finished.stderr);
    let all = files(&sandbox.path().join("site"));
    assert_eq!(all.len(), 6, "{:?}", all.keys());
    for (path, (_, content)) in all.iter().filter(|(path, _)| !path.ends_with("site.json")) {
        let text = str::from_utf8(content).unwrap();
        assert!(!text.contains(MARKUP), "{}", path.display());
        let escaped = ["&lt;script&gt;", "\\u003cscript>"];
        assert!(escaped.iter().any(|name| text.contains(name)), "{}", path.display());
        assert!(text.contains("default-src 'none'") && !text.contains("http://"));
        assert!(!text.contains("https://"), "{}", path.display());
    }
}

#[test]
fn a_folder_without_snapshots_is_an_error_and_leaves_no_site() {
    let sandbox = Sandbox::new();
    sandbox.file("snapshots/readme.txt", "none here");
    let finished = publish(&sandbox);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("no snapshots in `snapshots`"));
    assert!(!sandbox.path().join("site").exists());
    assert_eq!(firstlight(&sandbox, &["publish", "nowhere"]).code, 2);
    sandbox.file(
        "site/site.json",
        "{\"schema\":{\"name\":\"site\",\"version\":{\"major\":9,\"minor\":0}}}",
    );
    add(&sandbox, "quick", 1, |_| {});
    let newer = publish(&sandbox);
    assert_eq!(newer.code, 2, "a site of a newer firstlight is left alone");
    assert!(newer.stderr.contains("has version 9.0"), "{}", newer.stderr);
    assert!(!sandbox.path().join("site/index.html").exists());
}
