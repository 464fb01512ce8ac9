//! The time to analyse a million iterations.

use super::Workshop;
use xtask::shell::{Result, cargo, step};

pub(super) fn bench(_: &Workshop) -> Result {
    let arguments = ["bench", "--quiet", "--package", "firstlight-analysis", "--bench", "million"];
    step("bench analysis: one million iterations, wanted under a second", cargo().args(arguments))
}
