//! The time of `firstlight report` for a result with a million calls.

use std::time::Instant;

use super::{Workshop, judge, median};
use xtask::shell::{Result, cargo, output, step};

const TIMES: usize = 5;
const MOST_SECONDS: f64 = 1.0;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let result = workshop.folder.path().join("million.json").display().to_string();
    let page = workshop.folder.path().join("million.html").display().to_string();
    let arguments = ["bench", "--quiet", "--package", "firstlight-report", "--bench", "million"];
    step("bench report: a million calls", cargo().args(arguments).args(["--", &result]))?;
    let mut seconds = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        output(&mut workshop.firstlight(&["report", &result, "--output", &page, "--quiet"]))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let figure = format!("{:.2} s, median of {TIMES}", median(&seconds));
    judge("firstlight report", &figure, "at most 1 s", median(&seconds) <= MOST_SECONDS);
    Ok(())
}
