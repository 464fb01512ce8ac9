//! Checks that all files and names in the recipes of `CONTRIBUTING.md` exist.

use std::fs;

use xtask::shell::root;

/// The places of the recipes: a path, and the names in parentheses after it.
fn places(text: &str) -> Vec<(String, Vec<String>)> {
    let recipes = text.split("## Recipes").nth(1).expect("there are recipes");
    let recipes = recipes.split("\n## ").next().expect("text before the next heading");
    let words: Vec<&str> = recipes.split('`').collect();
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for pair in words.chunks(2) {
        let [prose, code] = pair else { break };
        inside = match prose.trim() {
            "(" => true,
            "," => inside,
            _ => false,
        };
        let is_path = code.contains('/') && !code.contains(' ');
        match places.last_mut() {
            Some((_, names)) if inside => names.push((*code).to_owned()),
            _ if is_path => places.push(((*code).to_owned(), Vec::new())),
            _ => {}
        }
    }
    places
}

#[test]
fn every_path_and_name_of_a_recipe_exists() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let places = places(&text);
    assert!(places.len() > 25, "{places:?}");
    let mut names_seen = 0;
    for (path, names) in places {
        let full = root().join(&path);
        assert!(full.exists(), "`{path}` of a recipe does not exist");
        for name in names {
            let content = fs::read_to_string(&full).unwrap();
            assert!(content.contains(&name), "`{path}` has no `{name}`");
            names_seen += 1;
        }
    }
    assert!(names_seen > 10, "{names_seen}");
}

#[test]
fn a_name_in_parentheses_belongs_to_the_path_before_it() {
    let text =
        "## Recipes\n- `a/b.rs` (`One`, `two`): begin with `Other` and `c/d`.\n\n## Next\n`e/f`";
    let found = places(text);
    let names = vec!["One".to_owned(), "two".to_owned()];
    assert_eq!(found, [("a/b.rs".to_owned(), names), ("c/d".to_owned(), vec![])]);
}
