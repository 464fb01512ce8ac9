//! The time to build a site of a thousand snapshots, and to add one more.

use std::fs;
use std::time::Instant;

use super::{Workshop, judge};
use xtask::shell::{Result, cargo, output, root, step};

const SNAPSHOTS: u32 = 1_000;
const ALL_WITHIN: f64 = 10.0;
const ONE_WITHIN: f64 = 1.0;
const LARGEST_INDEX: u64 = 300_000;

const SUITE: &str = "name = \"small\"\nenvironment = \"as-found\"\n\
    regimes = [\"cold-clean\", \"warm\"]\nsampling = { processes = 5 }\n\
    warm = { iterations = 20, processes = 5, most-processes = 5 }\n\
    [[case]]\nname = \"sum\"\nparameters = { count = 1000 }\n";

pub(super) fn bench(workshop: &Workshop) -> Result {
    let example = ["build", "--release", "--quiet", "-p", "firstlight-runner", "--example", "sum"];
    step("bench publish: a thousand snapshots", cargo().args(example))?;
    let within = |name: &str| workshop.folder.path().join(name).display().to_string();
    let program = root().join("target/release/examples/sum");
    let command = format!("command = [{:?}]\n", program.display().to_string());
    let arms = ["one", "two"].map(|arm| format!("[[arm]]\nname = \"{arm}\"\n{command}")).concat();
    let (suite, run) = (within("small"), within("small-run"));
    fs::create_dir_all(&suite).map_err(|error| error.to_string())?;
    fs::write(format!("{suite}/suite.toml"), format!("{SUITE}{arms}"))
        .map_err(|error| error.to_string())?;
    output(&mut workshop.firstlight(&["run", &suite, "--output", &run, "--quiet"]))?;
    let (snapshots, pages) = (within("snapshots"), within("site"));
    make(&run, &snapshots, 0, SNAPSHOTS)?;
    let publish = || -> Result<f64> {
        let begin = Instant::now();
        output(&mut workshop.firstlight(&["publish", &snapshots, "--output", &pages]))?;
        Ok(begin.elapsed().as_secs_f64())
    };
    let all = publish()?;
    judge("a thousand snapshots", &format!("{all:.2} s"), "under 10 s", all < ALL_WITHIN);
    let index = fs::metadata(format!("{pages}/index.html")).map_err(|error| error.to_string())?;
    let size = index.len();
    let shown = format!("{:.0} kB", f64::from(u32::try_from(size).unwrap_or(u32::MAX)) / 1e3);
    judge("size of the first page", &shown, "under 300 kB", size < LARGEST_INDEX);
    make(&run, &snapshots, SNAPSHOTS, 1)?;
    let one = publish()?;
    judge("one more", &format!("{one:.2} s"), "under a second", one < ONE_WITHIN);
    Ok(())
}

/// Copies of a run with other start times, numbered from `first`.
fn make(run: &str, snapshots: &str, first: u32, count: u32) -> Result {
    let (first, count) = (first.to_string(), count.to_string());
    let bench = ["bench", "--quiet", "--package", "firstlight", "--bench", "snapshots", "--"];
    step("copies of a run", cargo().args(bench).args([run, snapshots, &first, &count]))
}
