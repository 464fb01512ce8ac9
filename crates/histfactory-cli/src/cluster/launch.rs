//! Prepares the folder of a job: files, program, script and sentinel.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use firstlight_slurm::{Probe, Script, Slurm, TaskFolder, quoted};

use super::folder::{LaunchDocument, LaunchFolder, NAME, SHARDS};
use super::follow::OFFSET;
use super::job::Job;
use crate::error::Error;
use crate::output::{Schema, write};
use crate::printer::Printer;
use crate::settings::ClusterSettings;

pub(super) const PROGRAM: &str = "histfactory";

/// The folder of a new job, with everything that its tasks need; nothing is submitted yet.
pub(super) fn launch(
    job: &Job,
    on: &ClusterSettings,
    slurm: &Slurm,
    printer: &mut Printer,
) -> Result<LaunchFolder, Error> {
    let path = std::path::absolute(&on.folder)
        .map_err(|source| Error::Write { path: on.folder.clone(), source })?;
    if path.exists() {
        return Err(Error::FolderTaken { path });
    }
    let tasks = u32::try_from(job.total.max(1)).map_or(on.tasks, |most| on.tasks.min(most));
    let launch = LaunchDocument {
        schema: Schema::new(NAME),
        histfactory: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: job.arguments.clone(),
        tasks,
        options: on.options.clone(),
        largest_array: slurm.largest_array(),
        jobs: Vec::new(),
    };
    let folder = LaunchFolder::new(path.clone(), launch);
    let prepared = prepare(&folder, job, slurm, printer);
    if prepared.is_err() {
        let _ = fs::remove_dir_all(&path);
    }
    prepared?;
    printer.aside(&format!("{tasks} tasks in {}", path.display()));
    Ok(folder)
}

fn prepare(
    folder: &LaunchFolder,
    job: &Job,
    slurm: &Slurm,
    printer: &mut Printer,
) -> Result<(), Error> {
    let sentinel = lay_out(folder, job)?;
    let options = &folder.launch.options;
    match slurm.probe(PROGRAM, &folder.tasks.sentinel(), &sentinel, options)? {
        Probe::Shared { clock: None } => {}
        Probe::Shared { clock: Some(apart) } => printer.warning(&format!(
            "the clock of a node differs by {apart:.0} s from this machine's; waiting times for Slurm are \
             affected, results are not"
        )),
        Probe::NotShared { node } => {
            return Err(Error::NotShared { path: folder.tasks.path().to_owned(), node });
        }
        Probe::NotAsked { why } => printer.aside(&format!(
            "no node was free to check the shared storage ({why}); every task checks it"
        )),
    }
    folder.save()
}

/// Writes everything that tasks read, and returns the sentinel.
fn lay_out(folder: &LaunchFolder, job: &Job) -> Result<String, Error> {
    let path = folder.tasks.path();
    for name in ["", SHARDS].iter().chain(&TaskFolder::FOLDERS) {
        let path = path.join(name);
        fs::create_dir_all(&path).map_err(|source| Error::Write { path, source })?;
    }
    for (name, text) in &job.files {
        write(&path.join(name), text)?;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let sentinel = format!("{now}-{}", std::process::id());
    write(&folder.tasks.sentinel(), &format!("{sentinel}\n"))?;
    let script = Script {
        program: PROGRAM,
        folder: &folder.shown(),
        sentinel: &sentinel,
        offset: OFFSET,
        body: &body(&folder.launch),
    };
    write(&folder.tasks.script(), &script.text())?;
    copy_program(&path.join(PROGRAM))?;
    Ok(sentinel)
}

/// A shard appears under its name only when it is whole.
fn body(launch: &LaunchDocument) -> String {
    let words: Vec<String> = launch.arguments.iter().map(|word| quoted(word)).collect();
    let (words, tasks) = (words.join(" "), launch.tasks);
    format!(
        r#"export RAYON_NUM_THREADS="${{SLURM_CPUS_PER_TASK:-1}}"
./{PROGRAM} {words} --quiet --shard "$(( index + 1 ))/{tasks}" --output-file "{SHARDS}/$name.part" &&
    exec mv "{SHARDS}/$name.part" "{SHARDS}/$name.json"
"#
    )
}

fn copy_program(target: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write { path: target.to_owned(), source };
    fs::copy("/proc/self/exe", target).map_err(failed)?;
    fs::set_permissions(target, fs::Permissions::from_mode(0o755)).map_err(failed)
}
