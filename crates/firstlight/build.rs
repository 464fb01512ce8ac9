//! Records the commit that the binary is built from, if there is one.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/index");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        let changed = git(&["status", "--porcelain"]).is_some_and(|list| !list.is_empty());
        let suffix = if changed { "+changes" } else { "" };
        println!("cargo::rustc-env=FIRSTLIGHT_COMMIT={commit}{suffix}");
    }
}
