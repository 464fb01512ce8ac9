//! The colours of arms as rules of a style sheet.

use std::fmt::Write as _;

use firstlight_plot::palette::LOOKS;

/// An arm keeps its class, and with it colour and dashes, on the whole page.
pub(crate) fn arm_class(index: usize) -> String {
    format!("a{}", index % LOOKS.len())
}

pub(crate) fn rules() -> String {
    let (mut light, mut dark, mut classes) = (String::new(), String::new(), String::new());
    for (index, look) in LOOKS.iter().enumerate() {
        write!(light, "--a{index}:{};", look.light).expect("a string");
        write!(dark, "--a{index}:{};", look.dark).expect("a string");
        write!(classes, ".a{index}{{color:var(--a{index})}}").expect("a string");
        if !look.dashes.is_empty() {
            write!(classes, ".curve.a{index}{{stroke-dasharray:{}}}", look.dashes)
                .expect("a string");
        }
    }
    format!(
        ":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{classes}"
    )
}
