//! Checks that tables of the documentation have captions: a paragraph in italics directly before them.

/// The first rows of tables without a caption.
#[cfg(test)]
fn uncaptioned(page: &str) -> Vec<&str> {
    let lines: Vec<&str> = page.lines().collect();
    let is_rule =
        |line: &str| line.starts_with("|-") && line.chars().all(|letter| "|-: ".contains(letter));
    let is_table = |place: usize| lines.get(place + 1).is_some_and(|next| is_rule(next));
    let without = |place: &usize| {
        let above = lines[..*place].join("\n");
        let paragraph = above.trim_end().rsplit("\n\n").next().unwrap_or_default();
        let words = paragraph.lines().filter(|line| !line.starts_with("<!--"));
        let words = words.collect::<Vec<_>>().join(" ");
        !(words.starts_with('*') && words.ends_with('*') && words.len() > 2)
    };
    let tables = (0..lines.len()).filter(|place| is_table(*place));
    tables.filter(without).map(|place| lines[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::uncaptioned;
    use crate::links::{SUMMARY, targets};
    use xtask::shell::root;

    #[test]
    fn every_table_of_the_documentation_has_a_caption() {
        let mut missing = Vec::new();
        for page in targets(SUMMARY).unwrap() {
            let text = std::fs::read_to_string(root().join(&page)).unwrap();
            missing.extend(uncaptioned(&text).iter().map(|row| format!("{page}: {row}")));
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }

    #[test]
    fn a_table_below_plain_text_is_found() {
        let table = "| a | b |\n|---|--:|\n| 1 | 2 |\n";
        assert_eq!(uncaptioned(&format!("Words:\n\n{table}")), ["| a | b |"]);
        assert_eq!(uncaptioned(&format!("## Head\n\n{table}")), ["| a | b |"]);
        assert!(uncaptioned(&format!("*A caption of\ntwo lines.*\n\n{table}")).is_empty());
    }
}
