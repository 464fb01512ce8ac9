//! `cargo xtask docs`: the documentation as a site, built by mdBook from the files of the repository.
//!
//! Pages keep their paths, so that links between them work in the repository and on the site.
//! `docs/design/why-the-site-is-an-mdbook.md` has the reasons.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::shell::{Result, cargo, root, step};

use crate::links::{self, SUMMARY, resolved};

const VERSION: &str = "0.5.4";
const CONFIGURATION: &str = "\
[book]
title = \"firstlight\"
language = \"en\"
src = \"src\"

[build]
build-dir = \"site\"
use-default-preprocessors = false

[output.html]
default-theme = \"light\"
preferred-dark-theme = \"navy\"
smart-punctuation = false

[output.html.fold]
enable = true
level = 1
";

pub(crate) fn build() -> Result {
    let mdbook = mdbook()?;
    let book = root().join("target/book");
    if book.exists() {
        fs::remove_dir_all(&book).map_err(|error| format!("{}: {error}", book.display()))?;
    }
    write(&book.join("book.toml"), CONFIGURATION.as_bytes())?;
    let contents = read(&root().join(SUMMARY))?;
    write(&book.join("src/SUMMARY.md"), from_the_root(&contents).as_bytes())?;
    let pages = links::targets(SUMMARY)?;
    let mut files = pages.clone();
    for page in &pages {
        files.extend(links::targets(page)?);
    }
    for file in &files {
        let content = fs::read(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
        write(&book.join("src").join(file), &content)?;
    }
    step("mdBook", Command::new(mdbook).arg("build").arg(&book))?;
    let site = book.join("site");
    let dead = dead_ends(&site)?;
    if !dead.is_empty() {
        return Err(format!("the site has dead links:\n{}", dead.join("\n")));
    }
    println!("{}", site.join("index.html").display());
    Ok(())
}

/// The program, installed below `target` if it is missing. Tests never need it.
fn mdbook() -> Result<PathBuf> {
    let folder = root().join("target/mdbook");
    let program = folder.join("bin/mdbook");
    let known = Command::new(&program).arg("--version").output();
    if known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains(VERSION)) {
        return Ok(program);
    }
    let mut install = cargo();
    install.args(["install", "mdbook", "--quiet", "--locked", "--debug", "--version", VERSION]);
    install.args(["--no-default-features", "--features", "search", "--root"]).arg(&folder);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    step("installing mdBook", &mut install)?;
    Ok(program)
}

/// The table of contents with links relative to the root of the repository instead of `docs/`.
fn from_the_root(contents: &str) -> String {
    contents.replace("](", "](docs/").replace("](docs/../", "](")
}

/// Dead links between the pages of a site.
fn dead_ends(site: &Path) -> Result<Vec<String>> {
    let mut dead = BTreeSet::new();
    let mut folders = vec![site.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "html")
                && !path.ends_with("404.html")
            {
                let page = path.strip_prefix(site).unwrap_or(&path).display().to_string();
                let broken = broken(site, &page, &read(&path)?);
                dead.extend(broken.into_iter().map(|target| format!("{page}: {target}")));
            }
        }
    }
    Ok(dead.into_iter().collect())
}

fn broken(site: &Path, page: &str, text: &str) -> Vec<String> {
    let targets = [" href=\"", " src=\""].into_iter().flat_map(|attribute| {
        let found = text.match_indices(attribute);
        found.filter_map(move |(at, _)| Some(text[at + attribute.len()..].split_once('"')?.0))
    });
    let exists = |target: &str| {
        let path = target.split(['#', '?']).next().unwrap_or_default();
        path.is_empty() || resolved(page, path).is_some_and(|path| site.join(path).is_file())
    };
    let local = targets.filter(|target| !target.contains(':'));
    local.filter(|target| !exists(target)).map(str::to_owned).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, content: &[u8]) -> Result {
    let problem = |error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().expect("a file in a folder")).map_err(problem)?;
    fs::write(path, content).map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::{broken, from_the_root};

    #[test]
    fn the_contents_lead_from_the_root() {
        let contents = "[Introduction](../README.md)\n- [Quickstart](guide/quickstart.md)\n";
        let expected = "[Introduction](README.md)\n- [Quickstart](docs/guide/quickstart.md)\n";
        assert_eq!(from_the_root(contents), expected);
    }

    #[test]
    fn a_link_to_a_page_that_was_not_built_is_found() {
        let site = tempfile::tempdir().unwrap();
        std::fs::write(site.path().join("b.html"), "").unwrap();
        let page = "<a href=\"../b.html#x\">b</a> <a href=\"c.html\">c</a> <a href=\"https://e.org\">e</a>";
        assert_eq!(broken(site.path(), "docs/a.html", page), ["c.html"]);
    }
}
