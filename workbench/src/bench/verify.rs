//! The time to verify a snapshot with a million calls.

use std::fs;
use std::time::Instant;

use super::{Workshop, judge, median};
use xtask::shell::{Result, cargo, output, root, step};

const TIMES: usize = 5;
const WANTED: f64 = 1.0;

const SUITE: &str = "name = \"million\"\nenvironment = \"as-found\"\nregimes = [\"warm\"]\n\
    [warm]\niterations = 100000\nwithin = \"60s\"\nprocesses = 10\nmost-processes = 10\n\
    [[case]]\nname = \"sum\"\nparameters = { count = 1000 }\n[[arm]]\nname = \"sum\"\n";

pub(super) fn bench(workshop: &Workshop) -> Result {
    let example = ["build", "--release", "--quiet", "-p", "firstlight-runner", "--example", "sum"];
    step("bench verify: a snapshot with a million calls", cargo().args(example))?;
    let folder = workshop.folder.path().join("million");
    let program = root().join("target/release/examples/sum");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let toml = format!("{SUITE}command = [{:?}]\n", program.display().to_string());
    fs::write(folder.join("suite.toml"), toml).map_err(|error| error.to_string())?;
    let run = workshop.folder.path().join("million-run");
    let (suite, run) = (folder.display().to_string(), run.display().to_string());
    output(&mut workshop.firstlight(&["run", &suite, "--output", &run, "--quiet"]))?;
    output(&mut workshop.firstlight(&["snapshot", &run, "--archive", "--quiet"]))?;
    let archive = format!("{run}.tar.zst");
    for (kind, what) in [("the folder", &run), ("the archive", &archive)] {
        let mut seconds = Vec::new();
        for _ in 0..TIMES {
            let begin = Instant::now();
            output(&mut workshop.firstlight(&["verify", what]))?;
            seconds.push(begin.elapsed().as_secs_f64());
        }
        let figure = median(&seconds);
        judge(kind, &format!("{figure:.2} s"), "under a second", figure < WANTED);
    }
    Ok(())
}
