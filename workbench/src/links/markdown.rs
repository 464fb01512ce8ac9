//! What a Markdown file links to, and the places in it that can be linked to.

use std::collections::{BTreeMap, BTreeSet};

/// The targets of all links and images outside of code, with the lines they stand on.
pub(super) fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        for (at, _) in line.match_indices("](") {
            links.extend(destination(&line[at + 2..]).map(|target| (number, target)));
        }
        for attribute in [" src=\"", " srcset=\"", " href=\""] {
            for (at, found) in line.match_indices(attribute) {
                let rest = &line[at + found.len()..];
                links.extend(rest.split_once('"').map(|(target, _)| (number, target.to_owned())));
            }
        }
    }
    links
}

/// The names of headings as GitHub and mdBook make them, and names that were given by hand.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let slug = slug(title.trim());
            let before = times.entry(slug.clone()).or_default();
            anchors.insert(if *before == 0 { slug } else { format!("{slug}-{before}") });
            *before += 1;
        }
        for (at, found) in line.match_indices(" id=\"") {
            let name = line[at + found.len()..].split_once('"');
            anchors.extend(name.map(|(name, _)| name.to_owned()));
        }
    }
    anchors
}

/// Lines outside of fenced code, numbered from one.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The line with everything between backticks left out.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let last = parts.len() - 1;
    // A backtick without its partner is one of the text.
    let prose = parts.iter().enumerate();
    prose
        .filter(|&(n, _)| n % 2 == 0 || (n == last && last % 2 == 1))
        .map(|(_, part)| *part)
        .collect()
}

/// The destination of a link whose opening parenthesis has been read.
fn destination(rest: &str) -> Option<String> {
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(rest[..at].split(' ').next()?.to_owned()),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn slug(title: &str) -> String {
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{anchors, links};

    #[test]
    fn links_are_found_but_for_those_in_code() {
        let text = "a [b](c.md#d \"title\") ![e](f(1).svg)\n```\n[no](no.md)\n```\n`[no](no.md)` [g](h)\n\
                    <img alt=\"x\" src=\"i.png\">\n";
        let found: Vec<(usize, String)> = links(text);
        let expected = [(1, "c.md#d"), (1, "f(1).svg"), (5, "h"), (6, "i.png")];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn headings_are_named_as_on_github() {
        let text = "# What, `then`?\n## A/A control\n## Same\n## Same\n<a id=\"by-hand\"></a>\n";
        let expected = ["aa-control", "by-hand", "same", "same-1", "what-then"];
        assert_eq!(anchors(text), expected.map(str::to_owned).into());
    }
}
