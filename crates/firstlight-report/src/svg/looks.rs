//! The colours, dashes and markers of arms: rules of a style sheet, and markers as shapes.

use std::fmt::Write as _;

use firstlight_plot::palette::{Cast, LOOKS};
use maud::{Markup, html};

/// The class of an arm, which determines colour and dashes wherever its name appears.
pub(crate) fn arm_class(cast: &Cast, arm: &str) -> String {
    format!("a{}", cast.number(arm))
}

/// The marker of an arm at a place of a picture; `x` is a share of the width, `y` in pixels.
pub(super) fn marker(
    cast: &Cast,
    arm: &str,
    place: (&str, &str),
    class: &str,
    title: &str,
) -> Markup {
    html! {
        svg x=(place.0) y=(place.1) width="1" height="1" {
            path class=(class) d=(cast.look(arm).marker.path()) { title { (title) } }
        }
    }
}

/// A line and a marker for a legend.
pub(crate) fn key(cast: &Cast, arm: &str) -> Markup {
    html! {
        svg class={ "swatch " (arm_class(cast, arm)) } width="28" height="12" aria-hidden="true" {
            path class="curve" d="M0 6H28" {}
            svg x="14" y="6" width="1" height="1" {
                path class="mark" d=(cast.look(arm).marker.path()) {}
            }
        }
    }
}

pub(crate) fn rules() -> String {
    let (mut light, mut dark, mut classes) = (String::new(), String::new(), String::new());
    for (index, look) in LOOKS.iter().enumerate() {
        write!(light, "--a{index}:{};", look.light).expect("a string");
        write!(dark, "--a{index}:{};", look.dark).expect("a string");
        let dashes = if look.dashes.is_empty() { "none" } else { look.dashes };
        write!(classes, ".a{index}{{color:var(--a{index});--dash:{dashes}}}").expect("a string");
    }
    format!(
        ":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{classes}"
    )
}
