//! Source packages: sdists for Python, `.crate` files for Rust.

use std::path::PathBuf;

use super::{Build, name, wheels};
use crate::shell::{Result, cargo, root, step};
use crate::wheel::{self, Product};

pub(super) fn pack(build: &Build) -> Result {
    for product in Product::ALL {
        let mut maturin = wheels::maturin(product);
        maturin.env("SOURCE_DATE_EPOCH", super::committed()?);
        maturin.args(["sdist", "--out"]).arg(&build.folder);
        step(&format!("the source package of {}", product.name()), &mut maturin)?;
    }
    Ok(())
}

/// Builds a wheel of every source package, as `pip` would, and packs every public crate.
pub(super) fn check(made: &[PathBuf]) -> Result {
    for path in made.iter().filter(|path| name(path).ends_with(".tar.gz") && !is_archive(path)) {
        let mut build = wheel::uv(&["build", "--quiet", "--wheel", "--python"]);
        build.arg(crate::python::real_interpreter()?).arg(path);
        build.arg("--out-dir").arg(root().join("target/from-source"));
        // The crates of others are compiled already, and optimised code is not the question.
        build.env("MATURIN_PEP517_ARGS", "--profile dev");
        build.env("CARGO_TARGET_DIR", root().join("target")).env("CARGO_INCREMENTAL", "0");
        step(&format!("a wheel from {}", name(path)), &mut build)?;
    }
    crates()
}

/// Packs the crates that `cargo publish` would upload, in its order, without compiling them.
fn crates() -> Result {
    let mut publish = cargo();
    publish.args(["publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty"]);
    step("the crates", publish.args(["--color", "never"]))
}

fn is_archive(path: &std::path::Path) -> bool {
    name(path).contains("-linux-")
}
