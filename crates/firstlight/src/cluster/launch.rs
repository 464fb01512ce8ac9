//! Prepares the folder of a run on a cluster: suite, program, script and sentinel.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use firstlight_analysis::cluster::plan;
use firstlight_engine::privacy::{is_redacted, pseudonym};
use firstlight_engine::process::Show;
use firstlight_engine::sampling::SuitePlan;
use firstlight_engine::snapshot::Assembly;
use firstlight_engine::store::{now_utc, unused_folder};
use firstlight_engine::suites::{self, Suite};
use firstlight_schema::launch::LaunchDocument;
use firstlight_schema::suite::{Program, SuiteFile};
use firstlight_schema::variables;
use firstlight_slurm::{Probe, Script, Slurm};

use super::arguments::{in_shard, of_every_start, of_sbatch};
use super::folder::LaunchFolder;
use super::script::Body;
use crate::error::Error;
use crate::harness::build;
use crate::printer::Printer;
use crate::settings::RunSettings;

/// The folder of a new run, with all files that its tasks need; nothing is submitted yet.
pub(crate) fn launch(
    name: &str,
    settings: &RunSettings,
    slurm: &Slurm,
    printer: &mut Printer,
) -> Result<LaunchFolder, Error> {
    let destination = &settings.destination;
    let mut suite = suites::open(name, &destination.cache)?;
    settings.choice.apply(&mut suite.file).map_err(Error::Usage)?;
    refuse_secrets(&suite)?;
    let planned = plan(processes(&suite.file), suite.file.launch.slurm.nodes);
    let options = of_sbatch(&suite.file.launch.slurm);
    let python = settings.python.as_deref().map(absolute).transpose()?;
    let folder = match &destination.output {
        Some(path) => path.clone(),
        None => unused_folder(&destination.runs, &suite.file.name),
    };
    let document = LaunchDocument {
        schema: LaunchDocument::schema_id(),
        firstlight: build(),
        created: now_utc(),
        suite: suite.file.name.clone(),
        argv: settings.argv.clone(),
        tasks: planned.tasks,
        rounds: planned.processes,
        processes: processes_of_task(&mut suite, planned.processes, settings),
        options: options.clone(),
        largest_array: slurm.largest_array(),
        jobs: Vec::new(),
    };
    let folder = std::path::absolute(&folder).map_err(|e| Error::io("find", &folder, &e))?;
    let sentinel = pseudonym(&format!("{} {}", folder.display(), now_utc()));
    let body = Body {
        arguments: &in_shard(
            &settings.choice,
            planned.processes,
            python.as_deref(),
            destination.redact,
        ),
        resumed: &of_every_start(python.as_deref(), destination.redact),
        seed: suite.file.sampling.seed,
    };
    let script = Script {
        program: "firstlight",
        folder: &folder.display().to_string(),
        sentinel: &sentinel,
        offset: variables::OFFSET,
        body: &body.text(),
    };
    let made = lay_out(&folder, &suite, &script, &sentinel)?;
    let launched = LaunchFolder::new(made, document);
    launched.save()?;
    printer.aside(&format!(
        "{}: {} tasks of {} rounds with all arms, in {}",
        suite.file.name,
        planned.tasks,
        planned.processes,
        launched.path().display()
    ));
    probe(&launched, slurm, &sentinel, &options, printer)?;
    Ok(launched)
}

/// Processes per arm and regime over all tasks.
fn processes(suite: &SuiteFile) -> u32 {
    suite.regimes.iter().map(|&regime| suite.least(regime)).max().unwrap_or(1)
}

fn processes_of_task(suite: &mut Suite, rounds: u32, settings: &RunSettings) -> u32 {
    let mut file = suite.file.clone();
    file.sampling.processes = rounds;
    (file.warm.processes, file.warm.most_processes) = (rounds, rounds);
    let whole = std::mem::replace(&mut suite.file, file);
    let python = settings.python.as_deref();
    let plan = SuitePlan { suite, python, show: Show::Tail, deadline: None };
    let count = plan.processes_in_all();
    suite.file = whole;
    count
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::io("find", path, &error))
}

/// Tasks run the packed suite, which must not contain secrets.
fn refuse_secrets(suite: &Suite) -> Result<(), Error> {
    let lacks = |program: Program<'_>| matches!(program, Program::Process(words) if words.iter().any(|word| is_redacted(word)));
    match suite.file.arms.iter().find(|arm| lacks(arm.program())) {
        None => Ok(()),
        Some(arm) => Err(Error::Usage(format!(
            "the command of `{}` holds a secret, which would be written to shared storage",
            arm.name.get_ref()
        ))),
    }
}

/// Creates the files that tasks read, in a folder that appears atomically.
fn lay_out(
    folder: &Path,
    suite: &Suite,
    script: &Script<'_>,
    sentinel: &str,
) -> Result<PathBuf, Error> {
    let assembly = Assembly::new(folder)?;
    for (name, content) in &suite.files {
        assembly.put(&format!("suite/{name}"), content)?;
    }
    assembly.put("task.sh", script.text().as_bytes())?;
    assembly.put("sentinel", format!("{sentinel}\n").as_bytes())?;
    let inside = |name: &str| assembly.path().join(name);
    for name in ["shards", "tasks", "logs"] {
        fs::create_dir(inside(name)).map_err(|error| Error::io("make", &inside(name), &error))?;
    }
    let program = inside("firstlight");
    let failed = |error| Error::io("copy firstlight to", &program, &error);
    fs::copy("/proc/self/exe", &program).map_err(failed)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(assembly.finish()?)
}

/// Checks on one node that it sees the folder.
fn probe(
    folder: &LaunchFolder,
    slurm: &Slurm,
    sentinel: &str,
    options: &[String],
    printer: &mut Printer,
) -> Result<(), Error> {
    match slurm.probe("firstlight", &folder.tasks.sentinel(), sentinel, options)? {
        Probe::Shared { clock: None } => {}
        Probe::Shared { clock: Some(apart) } => printer.talk(&format!(
            "warning: the clock of a node differs by {apart:.0} s from this machine's; dates in the snapshot \
             and waiting times for Slurm are affected, measured durations are not"
        )),
        Probe::NotShared { node } => {
            let path = folder.path().to_owned();
            let _ = fs::remove_dir_all(&path);
            return Err(Error::NotShared { folder: path, node });
        }
        Probe::NotAsked { why } => printer.aside(&format!(
            "no node was free to check the shared storage ({why}); every task checks it"
        )),
    }
    Ok(())
}
