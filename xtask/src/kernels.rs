//! `cargo xtask kernels`: compiles the CUDA kernels of histfactory, on a machine without a GPU or a CUDA toolkit.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::python;
use crate::shell::{Result, root, step};

const FOLDER: &str = "crates/histfactory-cuda/kernels";
const DIGESTS: &str = "digests.txt";

pub fn kernels(arguments: &[String]) -> Result {
    match arguments {
        [] => compile(&root().join(FOLDER)),
        [check] if check == "--check" => self::check(),
        [other, ..] => Err(format!("unknown option `{other}`: `--check` is the only one")),
    }
}

fn compile(folder: &Path) -> Result {
    let python = python::kernels()?;
    let mut build = Command::new(python);
    build.arg(root().join(FOLDER).join("build.py")).arg(folder);
    step("CUDA kernels", &mut build)
}

/// Compiles the kernels again and compares every file with the one that is checked in.
pub fn check() -> Result {
    let made = root().join("target/kernels");
    fs::create_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    compile(&made)?;
    let read = |folder: &Path, name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let digests = read(&made, DIGESTS)?;
    let text = String::from_utf8_lossy(&digests).into_owned();
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    let compiled = names.filter(|name| Path::new(name).extension().is_none_or(|end| end != "cu"));
    for name in compiled.chain([DIGESTS]) {
        if read(&made, name)? != read(&root().join(FOLDER), name)? {
            return Err(format!("{FOLDER}/{name} is outdated\nhint: cargo xtask kernels"));
        }
    }
    Ok(())
}
