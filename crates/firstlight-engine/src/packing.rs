//! Selects the files of a suite that go into a snapshot: those that `suite.toml` declares, and its sources. A
//! suite's folder may hold keys, data and earlier results, and a snapshot is published.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path};

use firstlight_schema::snapshot::{MANIFEST, ORIGIN, RAW};
use firstlight_schema::suite::{EnvironmentFile, Program, SuiteFile};

use crate::EngineError;

/// The files by their names, with their contents.
pub type Packed = Vec<(String, Vec<u8>)>;

const SUITE_FILE: &str = "suite.toml";
/// Of all files together.
const MOST_BYTES: u64 = 32 << 20;
const MOST_FILES: usize = 2_000;
const DEEPEST: usize = 16;
const SHOWN: usize = 5;
/// Files that people write: programs, requirements, text. Data and settings may hold secrets, so they are
/// packed only if `files` names them.
const SOURCES: [&str; 24] = [
    "c", "cc", "cpp", "cu", "cuh", "f90", "go", "h", "hpp", "in", "jl", "js", "lock", "lua", "md",
    "mojo", "py", "pyi", "pyx", "r", "rs", "rst", "sh", "toml",
];
/// Folders with generated files.
const MADE: [&str; 5] = ["__pycache__", "build", "dist", "node_modules", "target"];

/// The files that belong to the suite in this folder, sorted by name.
pub(crate) fn pack(folder: &Path, suite: &SuiteFile) -> Result<Packed, EngineError> {
    let mut sizes = BTreeMap::new();
    list(folder, "", DEEPEST, &mut sizes)?;
    for name in declared(suite) {
        let path = folder.join(&name);
        let Ok(known) = fs::symlink_metadata(&path) else { continue };
        if has_link(folder, &name) {
            return Err(EngineError::LinkInSuite { path });
        }
        if known.is_file() {
            sizes.insert(name, known.len());
        }
    }
    check_size(folder, &sizes)?;
    let read = |name: String| {
        let path = folder.join(&name);
        let content = fs::read(&path).map_err(EngineError::file("read", &path))?;
        Ok((name, content))
    };
    sizes.into_keys().map(read).collect()
}

/// The packed files, in a line.
pub fn describe(packed: &Packed) -> String {
    const MOST_NAMES: usize = 12;
    let bytes: usize = packed.iter().map(|(_, content)| content.len()).sum();
    let names: Vec<&str> = packed.iter().take(MOST_NAMES).map(|(name, _)| name.as_str()).collect();
    let more = match packed.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = packed.len();
    let files = if count == 1 { "file" } else { "files" };
    format!("packed {count} {files} of the suite, {bytes} bytes: {}{more}", names.join(", "))
}

/// The files that `suite.toml` names, as paths below its folder.
fn declared(suite: &SuiteFile) -> BTreeSet<String> {
    let mut names = BTreeSet::from([SUITE_FILE.to_owned()]);
    for arm in &suite.arms {
        match arm.program() {
            Program::Workload(workload) => {
                names.insert(workload.split(':').next().unwrap_or(workload).to_owned());
            }
            Program::Command(words) | Program::Process(words) => {
                names.extend(words.iter().filter(|word| word.contains('/')).cloned());
            }
        }
    }
    if let EnvironmentFile::Provisioned(wanted) = &suite.environment {
        names.insert(wanted.requirements.clone());
        names.extend(wanted.extras.values().filter_map(|extra| extra.requirements.clone()));
    }
    names.extend(suite.files.iter().cloned());
    names.into_iter().filter_map(|name| below(&name)).collect()
}

/// The name without `./`, if it stays below the folder.
fn below(name: &str) -> Option<String> {
    let parts = Path::new(name).components().filter(|part| *part != Component::CurDir);
    let parts: Option<Vec<&str>> = parts
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("/"))
}

/// Whether the file or a folder on the way to it is a link.
fn has_link(folder: &Path, name: &str) -> bool {
    let mut path = folder.to_owned();
    name.split('/').any(|part| {
        path.push(part);
        path.is_symlink()
    })
}

/// Sources below the folder with their sizes; no links, nothing hidden, no results.
fn list(
    folder: &Path,
    prefix: &str,
    depth: usize,
    sizes: &mut BTreeMap<String, u64>,
) -> Result<(), EngineError> {
    let problem = || EngineError::file("list", folder);
    for entry in fs::read_dir(folder).map_err(problem())? {
        let entry = entry.map_err(problem())?;
        let kind = entry.file_type().map_err(problem())?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let path = entry.path();
        if kind.is_dir() && depth > 0 && !MADE.contains(&name.as_str()) && !is_made(&path) {
            list(&path, &format!("{prefix}{name}/"), depth - 1, sizes)?;
        } else if kind.is_file() && is_source(&path) {
            sizes.insert(format!("{prefix}{name}"), entry.metadata().map_err(problem())?.len());
        }
    }
    Ok(())
}

/// Whether a folder is a result, a snapshot or a Python environment.
fn is_made(folder: &Path) -> bool {
    [RAW, ORIGIN, MANIFEST, "pyvenv.cfg"].iter().any(|name| folder.join(name).exists())
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| SOURCES.contains(&extension.to_lowercase().as_str()))
}

fn check_size(folder: &Path, sizes: &BTreeMap<String, u64>) -> Result<(), EngineError> {
    let bytes: u64 = sizes.values().sum();
    if bytes <= MOST_BYTES && sizes.len() <= MOST_FILES {
        return Ok(());
    }
    let mut largest: Vec<(&String, u64)> = sizes.iter().map(|(name, &size)| (name, size)).collect();
    largest.sort_by_key(|&(_, size)| std::cmp::Reverse(size));
    let largest = largest.iter().take(SHOWN).map(|(name, size)| format!("{name} ({size} bytes)"));
    Err(EngineError::LargeSuite {
        path: folder.to_owned(),
        files: sizes.len(),
        bytes,
        most: MOST_BYTES,
        largest: largest.collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const SUITE: &str = "name = \"s\"\nfiles = [\"data/weights.bin\"]\n[[case]]\nname = \"c\"\n\
                         [[arm]]\nname = \"a\"\nworkload = \"w.py\"\n";

    fn suite(folder: &Path) -> SuiteFile {
        for (name, text) in [
            ("suite.toml", SUITE),
            ("w.py", "import helper"),
            ("lib/helper.py", "x = 1"),
            (".env", "TOKEN=secret"),
            (".git/config", "url"),
            ("nested/.git/config", "url"),
            ("data/weights.bin", "declared"),
            ("data/other.bin", "not declared"),
            ("runs/1/raw.jsonl", ""),
            ("runs/1/result.json", "{}"),
            ("venv/pyvenv.cfg", ""),
            ("venv/lib/site.py", ""),
            ("__pycache__/w.py", ""),
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        SuiteFile::parse(SUITE).unwrap()
    }

    #[test]
    fn declared_files_and_sources_are_packed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let suite = suite(folder.path());
        symlink("/etc/passwd", folder.path().join("outside.txt")).unwrap();
        symlink(".", folder.path().join("again")).unwrap();
        symlink("..", folder.path().join("above")).unwrap();
        let packed = pack(folder.path(), &suite).unwrap();
        let names: Vec<&str> = packed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["data/weights.bin", "lib/helper.py", "suite.toml", "w.py"]);
        assert!(describe(&packed).starts_with("packed 4 files of the suite, "));
    }

    #[test]
    fn a_declared_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let suite = suite(folder.path());
        fs::remove_file(folder.path().join("w.py")).unwrap();
        symlink("/etc/passwd", folder.path().join("w.py")).unwrap();
        assert!(matches!(pack(folder.path(), &suite), Err(EngineError::LinkInSuite { .. })));
    }

    #[test]
    fn a_suite_that_is_too_large_names_its_largest_files() {
        let folder = tempfile::tempdir().unwrap();
        let suite = suite(folder.path());
        // A file with a hole is as long as any other.
        let large = fs::File::create(folder.path().join("dump.py")).unwrap();
        large.set_len(MOST_BYTES + 1).unwrap();
        let error = pack(folder.path(), &suite).unwrap_err().to_string();
        assert!(error.contains("dump.py (33554433 bytes)"), "{error}");
        assert!(error.contains("33554432"), "{error}");
    }
}
