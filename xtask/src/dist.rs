//! `cargo xtask dist`: builds and checks everything that is published, without publishing it.
//!
//! zig links both wheels against glibc 2.17, so that they run on every Linux of the last ten years. Two
//! builds of one commit are identical byte for byte: paths are left out, and times are the commit's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Result, cargo, output, root, step};
use crate::wheel::{self, MATURIN, Product};

/// The policy of both wheels: only symbols of glibc 2.17.
const POLICY: &str = "manylinux2014";
const LARGEST_WHEEL: u64 = 8 << 20;
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
const AUDITWHEEL: &str = "auditwheel==6.8.2";

pub fn dist(arguments: &[String]) -> Result {
    let twice = match arguments {
        [] => false,
        [option] if option == "--twice" => true,
        _ => return Err("usage: cargo xtask dist [--twice]".to_owned()),
    };
    wheel::provide_uv()?;
    let folder = root().join("target/dist");
    let made = build(&folder, &root().join("target"))?;
    if twice {
        let again = build(&root().join("target/dist-again"), &root().join("target/again"))?;
        compare(&made, &again)?;
    }
    for path in made.iter().filter(|path| is_wheel(path)) {
        check(path)?;
    }
    sums(&folder, &made)?;
    println!("\nbytes");
    for path in &made {
        println!("{:>10}  {}", size(path)?, name(path));
    }
    Ok(())
}

/// Wheels, source packages and archives, in a separate folder.
fn build(folder: &Path, target: &Path) -> Result<Vec<PathBuf>> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for triple in TARGETS {
        if !is_installed(triple)? {
            println!("── {triple}: NOT BUILT, its standard library is not installed");
            println!("hint: rustup target add {triple}");
            continue;
        }
        for product in Product::ALL {
            share(product)?;
            let mut maturin = maturin(product, target)?;
            maturin.args(["build", "--quiet", "--release", "--zig", "--target", triple]);
            maturin.args(["--compatibility", POLICY, "--out"]).arg(folder);
            step(&format!("the wheel of {}, {triple}", product.name()), &mut maturin)?;
        }
        archive(folder, target, triple)?;
    }
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut made: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    made.sort();
    Ok(made)
}

fn maturin(product: Product, target: &Path) -> Result<Command> {
    let zig = MATURIN.replacen("maturin", "maturin[zig]", 1);
    let mut command = wheel::uv(&["tool", "run", "--from", &zig, "maturin"]);
    command.current_dir(root().join(product.folder()));
    let here = root();
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let home = home.map_err(|_| "neither CARGO_HOME nor HOME is set".to_owned())?;
    let flags = format!(
        "--remap-path-prefix={}=firstlight --remap-path-prefix={home}=cargo",
        here.display()
    );
    command.env("RUSTFLAGS", flags).env("SOURCE_DATE_EPOCH", committed()?);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    Ok(command)
}

/// Completions, manual pages and licences, in the folder from which maturin includes them.
fn share(product: Product) -> Result {
    let data = root().join(product.folder()).join(format!("{}.data/data", product.name()));
    let _ = fs::remove_dir_all(&data);
    let run = ["run", "--quiet", "--package", "workbench", "--", "share", product.name()];
    step("completions and manual pages", cargo().args(run).arg(data))
}

fn is_installed(triple: &str) -> Result<bool> {
    let libraries =
        output(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]))?;
    Ok(Path::new(libraries.trim()).is_dir())
}

/// The program with its files, named and laid out as cargo-binstall expects.
fn archive(folder: &Path, target: &Path, triple: &str) -> Result {
    let version = env!("CARGO_PKG_VERSION");
    let title = format!("firstlight-{triple}-v{version}");
    let inside = target.join("archive").join(&title);
    let _ = fs::remove_dir_all(&inside);
    fs::create_dir_all(&inside).map_err(|error| format!("{}: {error}", inside.display()))?;
    let program = target.join(triple).join("release/firstlight");
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
    tar.arg(folder.join(format!("{title}.tar.gz"))).arg("--directory").arg(target.join("archive"));
    step("the archive", tar.arg(&title))
}

/// The time of the commit, in seconds since 1970.
fn committed() -> Result<String> {
    let mut git = Command::new("git");
    let time = output(git.args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
    Ok(time.trim().to_owned())
}

fn compare(first: &[PathBuf], second: &[PathBuf]) -> Result {
    println!("── two builds");
    if first.len() != second.len() {
        return Err("two builds made different files".to_owned());
    }
    for (one, other) in first.iter().zip(second) {
        if name(one) != name(other) || digest(one)? != digest(other)? {
            return Err(format!("{} differs from build to build", name(one)));
        }
        println!("{}  {}", digest(one)?, name(one));
    }
    Ok(())
}

/// Checks that a wheel is small, and requires nothing beyond its policy.
fn check(wheel: &Path) -> Result {
    let bytes = size(wheel)?;
    if bytes > LARGEST_WHEEL {
        return Err(format!(
            "{} has {bytes} bytes, at most {LARGEST_WHEEL} are allowed",
            name(wheel)
        ));
    }
    let mut audit = wheel::uv(&["tool", "run", AUDITWHEEL, "show"]);
    let said = output(audit.arg(wheel))?;
    let words: Vec<&str> = said.split_whitespace().collect();
    let policy = words.iter().find(|word| word.contains("manylinux_2_17"));
    let policy = policy.ok_or_else(|| format!("{} is not {POLICY}:\n{said}", name(wheel)))?;
    println!("── {}: {}", name(wheel), policy.trim_matches(['"', '.', ',']));
    Ok(())
}

fn sums(folder: &Path, made: &[PathBuf]) -> Result {
    let lines: Result<Vec<String>> =
        made.iter().map(|path| Ok(format!("{}  {}\n", digest(path)?, name(path)))).collect();
    let path = folder.join("SHA256SUMS");
    fs::write(&path, lines?.concat()).map_err(|error| format!("{}: {error}", path.display()))
}

fn digest(path: &Path) -> Result<String> {
    let text = output(Command::new("sha256sum").arg(path))?;
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}

fn size(path: &Path) -> Result<u64> {
    fs::metadata(path)
        .map(|found| found.len())
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn is_wheel(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "whl")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
