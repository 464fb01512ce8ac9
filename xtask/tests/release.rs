//! A release that is not ready is refused, and the reason is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::dist::{COMMIT, SUMS, digest};
use xtask::release::checks;
use xtask::shell::root;

const VERSION: &str = "0.1.0";
const FILES: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "CITATION.cff",
    "python/pyproject.toml",
    "python/firstlight/__init__.py",
    "crates/histfactory-python/Cargo.toml",
    "crates/histfactory-python/pyproject.toml",
    "fixtures/documents/cold-1.1.json",
];
const WHEELS: [&str; 2] = ["firstlight-0.1.0-py3-none-any.whl", "histfactory-0.1.0-abi3.whl"];

/// A scratch repository with what a release needs: our own files, and stand-ins for what is built.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release").join(name);
        let _ = fs::remove_dir_all(&folder);
        let scratch = Self(folder);
        for file in FILES {
            let text = fs::read_to_string(root().join(file)).expect("a file of the repository");
            scratch.write(file, &with_version(&text, file));
        }
        for library in xtask::release::LIBRARIES {
            let name = format!("crates/{library}/Cargo.toml");
            let manifest = fs::read_to_string(root().join(&name)).expect("a manifest");
            let complete = manifest.replacen("readme =", "repository = \"x\"\nreadme =", 1);
            scratch.write(&name, &complete);
            scratch.write(&format!("crates/{library}/api.txt"), "pub fn one ()\npub fn two ()\n");
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                scratch.write(&format!("crates/{library}/{licence}"), "You may.\n");
            }
        }
        scratch.write("fixtures/snapshots/a.tar.zst", "a");
        scratch.write("fixtures/protocol/accept/a.txt", "a");
        scratch.write(
            "CHANGELOG.md",
            "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-31\n\n### Added\n\n- All.\n",
        );
        scratch.write(".gitignore", "/target\n");
        scratch.git(&["init", "--quiet"]);
        scratch.commit();
        scratch
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.0.join(name)).expect("a file");
        assert!(text.contains(from), "{name} contains {from}");
        self.write(name, &text.replacen(from, to, 1));
    }

    fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false"];
        let mut git = Command::new("git");
        let ended = git.args(identity).args(arguments).current_dir(&self.0).output().expect("git");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).expect("text")
    }

    /// Commits everything, and builds the commit.
    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
        self.write(&format!("target/dist/{COMMIT}"), &self.git(&["rev-parse", "HEAD"]));
        let mut sums = Vec::new();
        for wheel in WHEELS {
            let name = format!("target/dist/{wheel}");
            self.write(&name, wheel);
            sums.push(format!("{}  {wheel}\n", digest(&self.0.join(&name)).expect("a digest")));
        }
        self.write(&format!("target/dist/{SUMS}"), &sums.concat());
    }

    /// All problems, one per line, with the names of their checks.
    fn problems(&self, version: &str) -> String {
        let checks = checks(&self.0, version).into_iter();
        let lines = checks.flat_map(|(name, found)| {
            found.into_iter().map(move |problem| format!("{name}: {problem}\n"))
        });
        lines.collect()
    }

    fn refuses(&self, version: &str, words: &str) {
        let problems = self.problems(version);
        assert!(problems.contains(words), "{words:?} is not in:\n{problems}");
    }
}

/// The repository's version changes with every release, and the test does not.
fn with_version(text: &str, file: &str) -> String {
    let ours = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    let text = text.replace(&ours, "\"0.1.0\"");
    let text = text.replace(&format!("\"={}\"", env!("CARGO_PKG_VERSION")), "\"=0.1.0\"");
    if file != "CITATION.cff" {
        return text;
    }
    text.replace(&format!("version: {}", env!("CARGO_PKG_VERSION")), "version: 0.1.0")
}

#[test]
fn a_release_with_everything_is_ready() {
    assert_eq!(Scratch::new("ready").problems(VERSION), "");
}

#[test]
fn a_version_that_differs_somewhere_is_named_with_its_file() {
    let scratch = Scratch::new("versions");
    scratch.replace("CITATION.cff", "version: 0.1.0", "version: 0.0.9");
    scratch.replace("python/firstlight/__init__.py", "\"0.1.0\"", "\"0.1.1\"");
    scratch.replace("Cargo.toml", "\"=0.1.0\"", "\"=0.0.9\"");
    scratch.refuses(VERSION, "versions agree: CITATION.cff has version 0.0.9, not 0.1.0");
    scratch.refuses(VERSION, "python/firstlight/__init__.py has version 0.1.1, not 0.1.0");
    scratch.refuses(VERSION, "Cargo.toml does not require version =0.1.0: firstlight-analysis");
    scratch.refuses("0.2.0", "Cargo.lock has firstlight 0.1.0: run `cargo check`");
    scratch.refuses("next", "`next` is not a version such as 1.2.3");
}

#[test]
fn a_changelog_without_the_release_is_refused() {
    let scratch = Scratch::new("changelog");
    scratch.refuses("0.2.0", "CHANGELOG.md has no heading `## [0.2.0] - YYYY-MM-DD`");
    for (from, to, words) in [
        ("2026-01-31", "soon", "`soon` is not a date"),
        ("- All.", "All.", "0.1.0 has no entry"),
        ("### Added", "### New", "`### New` is none of Added"),
        ("## [Unreleased]\n\n", "", "the first heading is not `## [Unreleased]`"),
    ] {
        let text = fs::read_to_string(scratch.0.join("CHANGELOG.md")).expect("a file");
        scratch.replace("CHANGELOG.md", from, to);
        scratch.refuses(VERSION, words);
        scratch.write("CHANGELOG.md", &text);
    }
}

#[test]
fn a_page_that_a_release_makes_false_is_refused() {
    let scratch = Scratch::new("pages");
    scratch.write("docs/guide/one.md", "firstlight is not published yet.\n");
    scratch.commit();
    scratch
        .refuses(VERSION, "installation on all pages: docs/guide/one.md says `not published yet`");
}

#[test]
fn a_crate_with_a_gap_in_its_metadata_is_refused() {
    let scratch = Scratch::new("metadata");
    scratch.replace("crates/firstlight-runner/Cargo.toml", "keywords", "words");
    scratch.replace("crates/firstlight-schema/Cargo.toml", "repository", "place");
    scratch.refuses(VERSION, "crates/firstlight-runner/Cargo.toml lacks keywords");
    scratch.refuses(VERSION, "crates/firstlight-schema/Cargo.toml lacks repository");
    fs::remove_file(scratch.0.join("crates/histfactory/LICENSE-MIT")).expect("a file");
    scratch.refuses(VERSION, "crates/histfactory lacks LICENSE-MIT");
}

#[test]
fn uncommitted_changes_and_a_tag_that_exists_are_refused() {
    let scratch = Scratch::new("checkout");
    scratch.write("notes.txt", "x");
    scratch.refuses(VERSION, "uncommitted changes: ?? notes.txt");
    scratch.git(&["tag", "v0.1.0"]);
    scratch.refuses(VERSION, "the tag v0.1.0 exists");
}

#[test]
fn a_frozen_fixture_never_changes_but_new_ones_may_come() {
    let scratch = Scratch::new("fixtures");
    scratch.git(&["tag", "v0.0.9"]);
    scratch.write("fixtures/snapshots/b.tar.zst", "b");
    scratch.commit();
    assert_eq!(scratch.problems(VERSION), "");
    scratch.write("fixtures/snapshots/a.tar.zst", "changed");
    fs::remove_file(scratch.0.join("fixtures/protocol/accept/a.txt")).expect("a file");
    scratch.commit();
    scratch.refuses(VERSION, "a fixture of v0.0.9 changed: M fixtures/snapshots/a.tar.zst");
    scratch.refuses(VERSION, "a fixture of v0.0.9 changed: D fixtures/protocol/accept/a.txt");
    scratch.refuses(VERSION, "fixtures/protocol/accept has no fixture");
}

#[test]
fn a_lost_public_item_needs_a_version_that_says_so() {
    let scratch = Scratch::new("api");
    scratch.git(&["tag", "v0.1.0"]);
    scratch.write("crates/histfactory/api.txt", "pub fn two ()\npub fn three ()\n");
    scratch.commit();
    scratch.refuses("0.1.1", "histfactory lost a public item since v0.1.0: pub fn one ()");
    assert!(!scratch.problems("0.2.0").contains("lost"), "a minor version may break before 1.0");
}

#[test]
fn files_that_were_not_built_from_this_commit_or_changed_since_are_refused() {
    let scratch = Scratch::new("dist");
    let wheel = format!("target/dist/{}", WHEELS[0]);
    scratch.write("target/dist/extra.whl", "x");
    scratch.refuses(VERSION, "extra.whl has no checksum");
    scratch.write(&wheel, "changed");
    scratch.refuses(VERSION, &format!("{} differs from its checksum", WHEELS[0]));
    fs::remove_file(scratch.0.join(&wheel)).expect("a file");
    scratch.refuses(VERSION, &format!("{} is missing", WHEELS[0]));
    scratch.git(&["commit", "--quiet", "--allow-empty", "--message", "later"]);
    scratch.refuses(VERSION, "target/dist was built from another commit");
    scratch.replace(&format!("target/dist/{SUMS}"), WHEELS[1], "histfactory-0.1.0.tar.gz");
    scratch.refuses(VERSION, "there is no wheel `histfactory-…whl`");
    fs::remove_dir_all(scratch.0.join("target")).expect("a folder");
    scratch.refuses(VERSION, "run `cargo xtask dist --twice`");
}
