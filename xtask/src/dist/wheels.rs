//! The wheels, linked by zig against an old glibc.

use std::fs;
use std::process::Command;

use super::{Build, committed};
use crate::shell::{Result, cargo, root, step};
use crate::wheel::{self, MATURIN, Product};

/// The policy whose symbols both wheels keep to: glibc 2.17.
const POLICY: &str = "manylinux2014";

pub(super) fn build(build: &Build, triple: &str) -> Result {
    for product in Product::ALL {
        share(product, triple)?;
        let mut command = maturin(product);
        compile_without_paths(&mut command, build)?;
        command.args(["build", "--quiet", "--locked", "--release", "--zig", "--target", triple]);
        command.args(["--compatibility", POLICY, "--out"]).arg(&build.folder);
        step(&format!("the wheel of {}, {triple}", product.name()), &mut command)?;
    }
    Ok(())
}

pub(super) fn maturin(product: Product) -> Command {
    let zig = MATURIN.replacen("maturin", "maturin[zig]", 1);
    let mut command = wheel::uv(&["tool", "run", "--from", &zig, "maturin"]);
    command.current_dir(root().join(product.folder()));
    command
}

fn compile_without_paths(command: &mut Command, build: &Build) -> Result {
    let paths = build.paths()?;
    let flags = |option: &str| {
        let each = paths.iter().map(|(path, name)| format!("{option}={path}={name}"));
        each.collect::<Vec<_>>().join(" ")
    };
    command.env("RUSTFLAGS", flags("--remap-path-prefix"));
    command.env("CFLAGS", flags("-ffile-prefix-map"));
    command.env("SOURCE_DATE_EPOCH", committed()?);
    command.env("CARGO_TARGET_DIR", &build.target).env("CARGO_INCREMENTAL", "0");
    Ok(())
}

/// Completions, manual pages and licences, where maturin takes them from.
fn share(product: Product, triple: &str) -> Result {
    let data = root().join(product.folder()).join(format!("{}.data/data", product.name()));
    let _ = fs::remove_dir_all(&data);
    let run = ["run", "--quiet", "--package", "workbench", "--", "share", product.name()];
    step("completions and manual pages", cargo().args(run).arg(data).args(["--target", triple]))
}
