//! `cargo xtask release VERSION`: checks that a release is ready, and tags it.
//!
//! Every check runs, so that one call names everything that is missing. Publishing itself needs the
//! owner's accounts; `docs/guide/releasing.md` lists those steps.

mod changelog;
mod history;
mod packages;
mod pages;
mod versions;

use std::path::Path;
use std::process::Command;

use crate::shell::{Result, cargo, output, root, step};

pub use history::LIBRARIES;

const USAGE: &str = "usage: cargo xtask release VERSION [--dry-run]";

pub fn release(arguments: &[String]) -> Result {
    let (version, dry) = match arguments {
        [version] => (version, false),
        [version, option] | [option, version] if option == "--dry-run" => (version, true),
        _ => return Err(USAGE.to_owned()),
    };
    let mut failed = 0;
    for (name, problems) in checks(&root(), version) {
        println!("{:<7} {name}", if problems.is_empty() { "ok" } else { "FAILED" });
        for problem in &problems {
            println!("        {problem}");
        }
        failed += problems.len();
    }
    // Schemas, reference pages, links and API snapshots, without drift.
    let workbench = ["run", "--quiet", "--package", "workbench", "--", "check"];
    let generated = step("generated files, links, licences", cargo().args(workbench));
    if failed > 0 {
        return Err(format!("{failed} problems; nothing was tagged"));
    }
    generated?;
    if dry {
        println!("ready: `cargo xtask release {version}` would tag v{version}");
        return Ok(());
    }
    let mut tag = Command::new("git");
    tag.args(["tag", "--annotate", &format!("v{version}"), "--message", version]);
    step(&format!("the tag v{version}"), tag.current_dir(root()))?;
    println!("next: the steps after the tag in docs/guide/releasing.md");
    Ok(())
}

/// Every check of the files below a folder, with its problems.
pub fn checks(root: &Path, version: &str) -> Vec<(&'static str, Vec<String>)> {
    let Some(parts) = parts(version) else {
        return vec![("version", vec![format!("`{version}` is not a version such as 1.2.3")])];
    };
    vec![
        ("versions agree", versions::problems(root, version)),
        ("metadata of public crates", packages::metadata(root)),
        ("changelog", changelog::problems(root, version)),
        ("installation on all pages", pages::problems(root)),
        ("clean checkout, new tag", history::checkout(root, version)),
        ("frozen fixtures", history::fixtures(root)),
        ("public API", history::api(root, parts)),
        ("files of `cargo xtask dist`", packages::dist(root, version)),
    ]
}

/// Major, minor, patch.
fn parts(version: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

fn read(root: &Path, name: &str) -> Result<String> {
    std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    output(Command::new("git").args(arguments).current_dir(root))
}
