//! The time to gather, check and merge a thousand shards of a megabyte, compared with reading and hashing
//! their bytes on one core.

use std::fs;
use std::path::Path;
use std::time::Instant;

use sha2::{Digest, Sha256};

use super::{Workshop, judge};
use xtask::shell::{Result, cargo, output, root, step};

const SHARDS: u32 = 1_000;
const WITHIN: f64 = 20.0;

const SUITE: &str = "name = \"shards\"\nenvironment = \"as-found\"\nregimes = [\"warm\"]\n\
    warm = { iterations = 1000, processes = 4, most-processes = 4, within = \"60s\" }\n\
    [[case]]\nname = \"sum\"\nparameters = { count = 1000 }\n";

pub(super) fn bench(workshop: &Workshop) -> Result {
    let example = ["build", "--release", "--quiet", "-p", "firstlight-runner", "--example", "sum"];
    step("bench merge: a thousand shards", cargo().args(example))?;
    let within = |name: &str| workshop.folder.path().join(name).display().to_string();
    let program = root().join("target/release/examples/sum");
    let command = format!("command = [{:?}]\n", program.display().to_string());
    let arms = ["one", "two"].map(|arm| format!("[[arm]]\nname = \"{arm}\"\n{command}")).concat();
    let (suite, run, shards) = (within("suite"), within("run"), within("shards"));
    fs::create_dir_all(&suite).map_err(|error| error.to_string())?;
    fs::write(format!("{suite}/suite.toml"), format!("{SUITE}{arms}"))
        .map_err(|error| error.to_string())?;
    let processes = ["--processes", "4"];
    let mut measure = workshop.firstlight(&["run", &suite, "--output", &run, "--quiet"]);
    output(measure.args(processes))?;
    let bench = ["bench", "--quiet", "--package", "firstlight", "--bench", "snapshots", "--"];
    let copies = [&run, &shards, "0", &SHARDS.to_string(), "shards"].map(str::to_owned);
    step("copies of a shard", cargo().args(bench).args(copies))?;
    let begin = Instant::now();
    let bytes = hash(Path::new(&shards))?;
    let floor = begin.elapsed().as_secs_f64();
    let each = bytes / u64::from(SHARDS) / 1_000;
    println!("   {SHARDS} shards of {each} kB; reading and hashing them: {floor:.2} s");
    let names: Vec<String> = (0..SHARDS).map(|number| format!("{shards}/{number:05}")).collect();
    let merged = within("merged");
    let begin = Instant::now();
    let mut merge = workshop.firstlight(&["merge", "--output", &merged, "--quiet"]);
    output(merge.args(&names))?;
    let seconds = begin.elapsed().as_secs_f64();
    let figure = format!("{seconds:.1} s, {:.1} times the floor", seconds / floor);
    judge("gather, check and merge", &figure, "under 20 s", seconds < WITHIN);
    Ok(())
}

/// The total size of all files below a folder, after reading and hashing each.
fn hash(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        if entry.path().is_dir() {
            bytes += hash(&entry.path())?;
        } else {
            let content = fs::read(entry.path()).map_err(|error| error.to_string())?;
            std::hint::black_box(Sha256::digest(&content));
            bytes += content.len() as u64;
        }
    }
    Ok(bytes)
}
