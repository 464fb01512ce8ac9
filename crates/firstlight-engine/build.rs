//! Embeds the Python side, the schemas and the built-in suites, so that the binary alone is enough.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Links to folders of the repository, which cargo packs as if they were folders of the crate.
    let root =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("embedded");
    let mut code = String::new();

    let mut files = Vec::new();
    collect(&root.join("bootstrap"), "bootstrap/", &mut files)?;
    collect(&root.join("firstlight"), "package/firstlight/", &mut files)?;
    table(&mut code, "PYTHON", &files);

    let mut files = Vec::new();
    collect(&root.join("schemas"), "", &mut files)?;
    table(&mut code, "SCHEMA_FILES", &files);

    let suites = root.join("suites");
    watch(&suites);
    let mut names = folders(&suites)?;
    names.sort();
    code.push_str("pub(crate) static SUITES: &[(&str, &[File])] = &[\n");
    for name in &names {
        let constant = name.replace('-', "_").to_uppercase();
        writeln!(code, "    ({name:?}, SUITE_{constant}),").expect("writing to a string");
    }
    code.push_str("];\n");
    for name in &names {
        let mut files = Vec::new();
        collect(&suites.join(name), "", &mut files)?;
        table(&mut code, &format!("SUITE_{}", name.replace('-', "_").to_uppercase()), &files);
    }

    let target = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("embedded.rs");
    fs::write(target, code)
}

/// Files below a folder, by the name under which they are laid out.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    watch(folder);
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path().canonicalize()?;
        let name = entry.file_name().into_string().expect("our own files have plain names");
        if entry.file_type()?.is_dir() {
            if name != "__pycache__" {
                collect(&path, &format!("{prefix}{name}/"), files)?;
            }
        } else if path.extension().is_none_or(|extension| extension != "pyc") {
            files.push((format!("{prefix}{name}"), path));
        }
    }
    Ok(())
}

fn folders(folder: &Path) -> io::Result<Vec<String>> {
    Ok(fs::read_dir(folder)?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("suite.toml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}

fn table(code: &mut String, name: &str, files: &[(String, PathBuf)]) {
    writeln!(code, "pub(crate) static {name}: &[File] = &[").expect("writing to a string");
    for (name, path) in files {
        watch(path);
        let path = path.to_str().expect("the checkout has a plain path");
        writeln!(code, "    ({name:?}, include_bytes!({path:?})),").expect("writing to a string");
    }
    code.push_str("];\n");
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}
