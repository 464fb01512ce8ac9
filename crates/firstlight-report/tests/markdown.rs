//! The Markdown: short, without foreign markup.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hostile;
mod made;

use firstlight_report::export::markdown;
use firstlight_report::words::tables::cold_verdicts;

use hostile::Free;
use made::{run, swept};

#[test]
fn the_markdown_of_a_suite() {
    insta::assert_snapshot!(markdown(&run()));
}

#[test]
fn the_markdown_of_a_single_arm_has_its_times() {
    insta::assert_snapshot!(markdown(&swept()));
}

#[test]
fn cold_starts_have_verdicts_where_there_is_something_to_compare_with() {
    insta::assert_snapshot!(cold_verdicts(&run().cases[0]).unwrap().markdown());
    assert!(cold_verdicts(&swept().cases[0]).is_none(), "a single arm");
}

#[test]
fn the_markdown_of_hostile_names_has_as_many_cells_and_lines() {
    let free = Free::new(run());
    let shape = |text: &str| -> Vec<usize> {
        markdown(&free.with(text)).lines().map(|line| line.matches(" | ").count()).collect()
    };
    for text in ["a | b", "<img src=x>\n\n# heading", "`x` **y** [z](https://example.org) @all"] {
        assert_eq!(shape(text), shape("harmless"), "{text}");
    }
}
