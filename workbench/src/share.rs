//! Files installed with a program: shell completions, manual pages, and the licences of its dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use serde_json::Value;

use xtask::shell::{Result, cargo, output};

/// Writes them below `share` of a folder, in the usual Unix layout. The wheel of histfactory is a library, so it
/// has no completions and no manual.
pub(crate) fn write(program: &str, folder: &Path, target: &str) -> Result {
    let share = folder.join("share");
    let package = match program {
        "firstlight" => {
            interface(&firstlight::interface(), program, &share)?;
            program
        }
        "histfactory" => "histfactory-python",
        _ => return Err(format!("unknown product `{program}`: firstlight or histfactory")),
    };
    let licences = third_party(program, package, target)?;
    put(&share.join("doc").join(program).join("THIRD-PARTY.md"), licences.as_bytes())
}

fn interface(interface: &clap::Command, program: &str, share: &Path) -> Result {
    for (shell, place) in [
        (Shell::Bash, PathBuf::from("bash-completion/completions").join(program)),
        (Shell::Zsh, PathBuf::from("zsh/site-functions").join(format!("_{program}"))),
        (Shell::Fish, PathBuf::from("fish/vendor_completions.d").join(format!("{program}.fish"))),
    ] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut interface.clone(), program, &mut text);
        put(&share.join(place), &text)?;
    }
    let manual = share.join("man/man1");
    let cannot = |error: std::io::Error| format!("{}: {error}", manual.display());
    fs::create_dir_all(&manual).map_err(cannot)?;
    let interface = interface.clone().disable_help_subcommand(true);
    clap_mangen::generate_to(interface, &manual).map_err(cannot)
}

fn put(path: &Path, content: &[u8]) -> Result {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().expect("below a folder")).map_err(cannot)?;
    fs::write(path, content).map_err(cannot)
}

/// The crates compiled into a program, with their licences and licence texts.
fn third_party(program: &str, package: &str, target: &str) -> Result<String> {
    let mut tree = cargo();
    tree.args(["tree", "--package", package, "--edges", "normal", "--target", target]);
    tree.args(["--prefix", "none", "--no-dedupe", "--format", "{p}"]);
    let listed = output(&mut tree)?;
    let json = output(cargo().args(["metadata", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let field = |package: &Value, name: &str| package[name].as_str().unwrap_or("").to_owned();
    let known: BTreeMap<(String, String), &Value> = packages
        .iter()
        .filter(|package| package["source"].is_string())
        .map(|package| {
            ((field(package, "name"), format!("v{}", field(package, "version"))), package)
        })
        .collect();
    let mut rows = BTreeMap::new();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in listed.lines() {
        let mut words = line.split(' ');
        let key = (words.next().unwrap_or("").to_owned(), words.next().unwrap_or("").to_owned());
        let Some(package) = known.get(&key) else { continue };
        for text in licence_texts(Path::new(&field(package, "manifest_path"))) {
            texts.entry(text).or_default().insert(key.0.clone());
        }
        rows.insert(key, (field(package, "license"), field(package, "repository")));
    }
    let mut text = format!(
        "# What is compiled into {program}\n\n| crate | version | licence | source |\n|---|---|---|---|\n"
    );
    for ((name, version), (licence, source)) in rows {
        writeln!(text, "| {name} | {} | {licence} | {source} |", &version[1..]).expect("a string");
    }
    for (licence, crates) in texts {
        let crates: Vec<_> = crates.into_iter().collect();
        write!(text, "\n## {}\n\n````\n{licence}\n````\n", crates.join(", ")).expect("a string");
    }
    Ok(text)
}

/// The licences and notices beside a crate's manifest.
fn licence_texts(manifest: &Path) -> Vec<String> {
    const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
    let folder = manifest.parent().expect("a manifest lies in a folder");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter(|file| {
            let name = file.file_name().to_string_lossy().to_uppercase();
            NAMES.iter().any(|start| name.starts_with(start))
        })
        .filter_map(|file| fs::read_to_string(file.path()).ok())
        .map(|text| text.replace('\r', "").trim().to_owned())
        .collect()
}
