//! Dead links: every relative link of every Markdown file leads to an existing file and heading.

mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use xtask::shell::{Result, output, root};

/// The table of contents of the documentation site.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

pub(crate) fn check() -> Result {
    println!("── links");
    let files = markdown_files()?;
    let mut problems = dead(&root(), &files)?;
    problems.extend(missing_from_summary(&files)?);
    if problems.is_empty() { Ok(()) } else { Err(format!("links:\n{}", problems.join("\n"))) }
}

/// Every Markdown file that is or will be in the repository.
fn markdown_files() -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]);
    let listed = output(git.current_dir(root()))?;
    Ok(listed.lines().filter(|path| root().join(path).exists()).map(str::to_owned).collect())
}

/// The files of a page's relative links, except itself.
pub(crate) fn targets(page: &str) -> Result<BTreeSet<String>> {
    let text = read(&root().join(page))?;
    let local = markdown::links(&text).into_iter().filter(|(_, target)| is_local(target));
    let path = |(_, target): (usize, String)| {
        let (path, _) = split(&target);
        (!path.is_empty()).then(|| resolved(page, path)).flatten()
    };
    Ok(local.filter_map(path).collect())
}

fn dead(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for file in files {
        for (line, target) in markdown::links(&read(&root.join(file))?) {
            if !is_local(&target) {
                continue;
            }
            let mut dead = |why: &str| problems.push(format!("{file}:{line}: `{target}` {why}"));
            let (path, anchor) = split(&target);
            let path = if path.is_empty() { Some(file.clone()) } else { resolved(file, path) };
            let Some(path) = path.filter(|path| root.join(path).is_file()) else {
                dead("is not a file of the repository");
                continue;
            };
            let Some(anchor) = anchor.filter(|_| is_markdown(&path)) else { continue };
            if !known.contains_key(&path) {
                known.insert(path.clone(), markdown::anchors(&read(&root.join(&path))?));
            }
            if !known[&path].contains(anchor) {
                dead("names a heading that is not there");
            }
        }
    }
    Ok(problems)
}

/// A page without a link in the table of contents cannot be reached on the site.
fn missing_from_summary(files: &[String]) -> Result<Vec<String>> {
    let listed = targets(SUMMARY)?;
    let pages = files.iter().filter(|file| file.starts_with("docs/") && *file != SUMMARY);
    let missing = pages.filter(|page| !listed.contains(*page));
    Ok(missing.map(|page| format!("{SUMMARY} does not list {page}")).collect())
}

fn is_local(target: &str) -> bool {
    !["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

fn split(target: &str) -> (&str, Option<&str>) {
    match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    }
}

fn is_markdown(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "md")
}

/// A path relative to the root of the repository; `None` if it is outside.
pub(crate) fn resolved(from: &str, target: &str) -> Option<String> {
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path.display().to_string())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::dead;

    #[test]
    fn a_planted_dead_link_is_found_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("docs/a.md", "# A title\n[up](../README.md#top) [self](#a-title)\n");
        let good = "# Top\n[a](docs/a.md#a-title) [web](https://example.org/x) `[code](no.md)`\n";
        write("README.md", good);
        let files = ["README.md", "docs/a.md"].map(str::to_owned);
        assert_eq!(dead(folder.path(), &files), Ok(Vec::new()));
        write(
            "README.md",
            "# Top\n\n[no](docs/b.md) [no](docs/a.md#other)\n[no](docs) [no](../x.md)\n",
        );
        let expected = [
            "README.md:3: `docs/b.md` is not a file of the repository",
            "README.md:3: `docs/a.md#other` names a heading that is not there",
            "README.md:4: `docs` is not a file of the repository",
            "README.md:4: `../x.md` is not a file of the repository",
        ];
        assert_eq!(dead(folder.path(), &files).unwrap(), expected);
    }
}
