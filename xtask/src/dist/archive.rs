//! The program with what belongs beside it, named and laid out as cargo-binstall expects it.

use std::fs;
use std::process::Command;

use super::{Build, committed};
use crate::shell::{Result, root, step};
use crate::wheel::Product;

pub(super) fn pack(build: &Build, triple: &str) -> Result {
    let version = env!("CARGO_PKG_VERSION");
    let title = format!("firstlight-{triple}-v{version}");
    let parent = build.target.join("archive");
    let inside = parent.join(&title);
    let _ = fs::remove_dir_all(&inside);
    fs::create_dir_all(&inside).map_err(|error| format!("{}: {error}", inside.display()))?;
    let program = build.target.join(triple).join("release/firstlight");
    let data = root().join(Product::Firstlight.folder()).join("firstlight.data/data/share");
    let mut copy = Command::new("cp");
    copy.args(["--recursive", "--dereference"]).arg(program).arg(data);
    copy.args(
        ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"].map(|n| root().join(n)),
    );
    step("what is in the archive", copy.arg(&inside))?;
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg("--mode=u+rwX,go=rX").arg(format!("--mtime=@{}", committed()?));
    tar.args(["--use-compress-program", "gzip --no-name --best", "--file"]);
    tar.arg(build.folder.join(format!("{title}.tar.gz"))).arg("--directory").arg(&parent);
    step("the archive", tar.arg(&title))
}
