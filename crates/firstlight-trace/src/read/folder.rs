//! Selects a file of a profile folder: that of the newest run, and there the xplane, which is lossless.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::trace::{Notice, NoticeName};

use crate::error::{Problem, Result};

/// The depth of the search; `plugins/profile/TIME` has three levels.
const DEEPEST: usize = 5;
/// A folder with more entries is not a profile folder.
const MOST_ENTRIES: usize = 20_000;

pub(crate) struct Found {
    pub(crate) file: PathBuf,
    pub(crate) notices: Vec<Notice>,
}

pub(crate) fn find(path: &Path) -> Result<Found> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(beside(path));
    }
    let mut files = Vec::new();
    collect(path, 0, &mut files)?;
    let xplanes: Vec<&PathBuf> = files.iter().filter(|file| is_xplane(file)).collect();
    let jsons: Vec<&PathBuf> = files.iter().filter(|file| is_json(file)).collect();
    let candidates = if xplanes.is_empty() { jsons } else { xplanes };
    // Runs lie in folders named by their time, so the last name is the newest.
    let Some(newest) = candidates.iter().filter_map(|file| file.parent()).max() else {
        return Err(Problem::NoTrace);
    };
    let runs = candidates.iter().filter_map(|file| file.parent());
    let mut others: Vec<&Path> = runs.filter(|parent| *parent != newest).collect();
    others.dedup();
    let of_it: Vec<&&PathBuf> =
        candidates.iter().filter(|file| file.parent() == Some(newest)).collect();
    let mut notices = Vec::new();
    if !others.is_empty() {
        let text = format!("the newest of {} runs in the folder", others.len() + 1);
        notices.push(Notice { name: NoticeName::OtherRuns, text });
    }
    match of_it.as_slice() {
        [file] => Ok(Found { file: (**file).clone(), notices }),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned())
                .collect();
            Err(Problem::SeveralHosts { names: names.join(", ") })
        }
    }
}

/// A converted JSON is read as requested, but its xplane is better.
fn beside(path: &Path) -> Found {
    let mut notices = Vec::new();
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    for ending in [".trace.json.gz", ".trace.json"] {
        let Some(stem) = name.strip_suffix(ending) else { continue };
        for xplane in [format!("{stem}.xplane.pb"), format!("{stem}.xplane.pb.gz")] {
            let better = path.with_file_name(&xplane);
            if better.metadata().is_ok_and(|metadata| metadata.len() > 0) {
                let text =
                    format!("read `{xplane}` beside it instead: a converted JSON loses data");
                notices.push(Notice { name: NoticeName::XplaneInstead, text });
                return Found { file: better, notices };
            }
        }
    }
    Found { file: path.to_owned(), notices }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    if depth > DEEPEST || files.len() > MOST_ENTRIES {
        return Ok(());
    }
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // A link may form a cycle.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn unpacked_name(file: &Path) -> &str {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name)
}

fn is_xplane(file: &Path) -> bool {
    unpacked_name(file).ends_with(".xplane.pb")
}

fn is_json(file: &Path) -> bool {
    let name = unpacked_name(file);
    name.ends_with(".trace.json") || name.ends_with(".pt.trace.json")
}
