//! A suite on a real Slurm with two nodes: nodes that die, tasks that are cancelled, disks that fill up.

mod cluster;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use firstlight_schema::launch::{StatusDocument, TaskProgress};
use firstlight_schema::reading::{RawRecord, SampleRole};
use firstlight_schema::run::RunDocument;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Finished, Sandbox};
use cluster::Cluster;

/// Every process takes long enough for a task to be hit in the middle.
fn write_suite(sandbox: &Sandbox, seconds: &str, launch: &str) {
    let arm =
        |name: &str| format!("[[arm]]\nname = \"{name}\"\nprocess = [\"sleep\", \"{seconds}\"]\n");
    let toml = format!(
        "name = \"tiny\"\nenvironment = \"as-found\"\nregimes = [\"cold-clean\"]\n\
         sampling = {{ processes = 16 }}\n[launch.slurm]\nnodes = 4\ntime = \"10m\"\n{launch}\
         [[case]]\nname = \"sleep\"\n{}{}",
        arm("one"),
        arm("two")
    );
    sandbox.file("suite/suite.toml", &toml);
}

fn firstlight(sandbox: &Sandbox, cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = sandbox.firstlight();
    cluster.configured(&mut command);
    command.env("FIRSTLIGHT_LOCAL", sandbox.path().join("local")).args(arguments);
    command
}

fn launched(sandbox: &Sandbox, cluster: &Cluster, log: &str) -> Child {
    let arguments = ["run", "suite", "--on", "slurm", "--output", "shared/run"];
    let log = fs::File::create(sandbox.path().join(log)).unwrap();
    let mut command = firstlight(sandbox, cluster, &arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().unwrap()
}

fn status(sandbox: &Sandbox, cluster: &Cluster) -> StatusDocument {
    let arguments = ["status", "shared/run", "--format", "json"];
    let finished = Finished::new(firstlight(sandbox, cluster, &arguments));
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

fn sandbox_on_a_cluster(test: &str) -> Option<(Sandbox, Cluster)> {
    let sandbox = Sandbox::new();
    for name in ["shared", "local", "slurm"] {
        fs::create_dir(sandbox.path().join(name)).unwrap();
    }
    let (slurm, shared) = (sandbox.path().join("slurm"), sandbox.path().join("shared"));
    let cluster = Cluster::start(test, &slurm, &shared)?;
    Some((sandbox, cluster))
}

/// Whether something happens within two minutes: Slurm takes seconds for every step.
fn patiently(mut condition: impl FnMut() -> bool) -> bool {
    (0..1_200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        condition()
    })
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(str::to_owned).collect()
}

/// The turns that were measured, each of them once.
fn measured(raw: &Path) -> Vec<String> {
    let measured: Vec<String> = lines(raw)
        .iter()
        .map(|line| serde_json::from_str::<RawRecord>(line).unwrap())
        .filter(|record| record.sample.role == SampleRole::Measured)
        .map(|record| serde_json::to_string(&record.subject).unwrap())
        .collect();
    let unique: BTreeSet<&String> = measured.iter().collect();
    assert_eq!(unique.len(), measured.len(), "a turn was measured twice in {}", raw.display());
    measured
}

/// A folder that is full after this many bytes, and has room again when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(path: PathBuf, size: &str) -> Self {
        fs::create_dir_all(&path).unwrap();
        let disk = Self(path);
        disk.mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "none"]);
        disk
    }

    fn grow(&self) {
        self.mount(&["-o", "remount,size=100m"]);
    }

    fn mount(&self, options: &[&str]) {
        assert!(Command::new("mount").args(options).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy"]).arg(&self.0).status();
    }
}

#[test]
fn a_run_over_two_nodes_survives_a_dead_node_a_cancelled_task_and_a_full_disk() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("slurm: a dead node") else { return };
    write_suite(&sandbox, "0.3", "");
    let run = sandbox.path().join("shared/run");
    let mut child = launched(&sandbox, &cluster, "log.txt");
    let log = || fs::read_to_string(sandbox.path().join("log.txt")).unwrap();
    assert!(patiently(|| run.join("launch.json").exists()), "{}", log());
    // Half of the readings of a task fit on it.
    let disk = SmallDisk::new(run.join("shards/00003"), "24k");
    let raw = |task: u32| run.join(format!("shards/{task:05}/raw.jsonl"));
    let begun = |task: u32| lines(&run.join(format!("tasks/{task:05}.begun")));

    // Slurm warns a task of its time limit, as with `--signal=B:TERM@…`: it seals its shard.
    assert!(patiently(|| lines(&raw(0)).len() >= 4 && lines(&raw(1)).len() >= 4), "{}", log());
    let job = |task: u32| begun(task)[0].split(' ').nth(1).unwrap().to_owned();
    cluster.said("scancel", &["--signal=TERM", "--batch", &format!("{}_1", job(1))]);
    let expired = run.join("shards/00001/manifest.json");
    assert!(patiently(|| expired.exists()), "{}", log());

    // The power of the node of the first task fails in the middle.
    let node = begun(0)[0].split(' ').next().unwrap().to_owned();
    cluster.kill_node(&node);
    let kept = lines(&raw(0));
    cluster.node(&node);

    // The next task is cancelled in the middle, and the one on the small disk runs out of space.
    assert!(patiently(|| lines(&raw(2)).len() >= 3), "{}", log());
    cluster.said("scancel", &[&format!("{}_2", job(2))]);
    let logs = || {
        let texts = fs::read_dir(run.join("logs")).unwrap().flatten();
        texts.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect::<String>()
    };
    assert!(patiently(|| logs().contains("No space left on device")), "{}{}", log(), logs());
    let on_small_disk = lines(&raw(3));
    disk.grow();

    assert!(patiently(|| child.try_wait().unwrap().is_some()), "{}", log());
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(0), "{}{}", log(), logs());
    let found = status(&sandbox, &cluster);
    assert!(found.tasks.iter().all(|task| task.state == TaskProgress::Complete), "{found:#?}");
    assert!((0..4).all(|task| begun(task).len() >= 2), "each was started again: {}", log());
    let nodes: BTreeSet<&String> = found.tasks.iter().flat_map(|task| &task.nodes).collect();
    assert_eq!(nodes.len(), 2, "both nodes measured");

    // Nothing is lost, nothing is measured twice, and the merged snapshot verifies.
    let merged = lines(&run.join("merged/raw.jsonl"));
    let of_merged: BTreeSet<&String> = merged.iter().collect();
    assert!(kept.iter().all(|line| of_merged.contains(line)), "readings before the power failed");
    assert!(on_small_disk.iter().all(|line| of_merged.contains(line)), "readings on the full disk");
    assert_eq!(of_merged.len(), merged.len());
    for task in 0..4 {
        let measured = measured(&raw(task));
        let details = (task, lines(&raw(task)), log());
        assert_eq!(measured.len(), 12, "four rounds of two arms and the control: {details:#?}");
    }
    let text = fs::read_to_string(run.join("merged/result.json")).unwrap();
    let document: RunDocument = serde_json::from_str(&text).unwrap();
    assert!(document.complete && document.nodes.len() == 2);
    let details = (&document.segments, log(), logs());
    assert!(!on_small_disk.is_empty(), "{details:#?}");
    assert_eq!(document.segments.len(), 7, "four shards, all continued once: {details:#?}");
    let verified = Finished::new(firstlight(&sandbox, &cluster, &["verify", "shared/run/merged"]));
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    assert!(log().contains("s for Slurm in the median"), "{}", log());
}

#[test]
fn a_run_can_be_left_followed_by_one_and_refuses_a_tampered_shard() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("slurm: detach and attach") else { return };
    write_suite(&sandbox, "0.1", "");
    let mut child = launched(&sandbox, &cluster, "log.txt");
    let log = || fs::read_to_string(sandbox.path().join("log.txt")).unwrap();
    assert!(patiently(|| log().contains("submitted job")), "{}", log());
    assert!(log().matches("submitted job").count() <= 2, "{}", log());
    let attach = ["run", "--attach", "shared/run"];
    let second = Finished::new(firstlight(&sandbox, &cluster, &attach));
    assert_eq!(second.code, 2);
    let home = fs::canonicalize(sandbox.path()).unwrap().display().to_string();
    insta::assert_snapshot!(second.stderr.replace(&home, "[sandbox]"), @r"
    error: another firstlight follows `[sandbox]/shared/run`

    hint: `firstlight status [sandbox]/shared/run` shows it without following
    ");
    assert!(patiently(|| log().matches("submitted job").count() == 2), "arrays of at most three");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(log().contains("detached; to follow again: firstlight run --attach"), "{}", log());
    let complete = || {
        let found = status(&sandbox, &cluster);
        found.tasks.iter().all(|task| task.state == TaskProgress::Complete)
    };
    assert!(patiently(complete), "tasks go on by themselves: {:#?}", status(&sandbox, &cluster));

    let raw = sandbox.path().join("shared/run/shards/00001/raw.jsonl");
    let honest = fs::read_to_string(&raw).unwrap();
    fs::write(&raw, honest.replacen("\"number\":1,", "\"number\":8,", 1)).unwrap();
    let refused = Finished::new(firstlight(&sandbox, &cluster, &attach));
    assert_eq!(refused.code, 6, "{}", refused.stderr);
    assert!(refused.stderr.contains("shards/00001`: it changed after it was sealed: raw.jsonl"));
    fs::write(&raw, honest).unwrap();
    let merged = Finished::new(firstlight(&sandbox, &cluster, &attach));
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    let again = Finished::new(firstlight(&sandbox, &cluster, &attach));
    assert_eq!(again.code, 2, "{}", again.stderr);
}

#[test]
fn ctrl_c_at_a_terminal_asks_and_cancels() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("slurm: cancel") else { return };
    write_suite(&sandbox, "2", "");
    // `script` gives the program a terminal.
    let binary = env!("CARGO_BIN_EXE_firstlight");
    let line = format!("{binary} run suite --on slurm --output shared/run");
    let command = firstlight(&sandbox, &cluster, &[]);
    let mut terminal = Command::new("script");
    for (name, value) in command.get_envs() {
        value.map(|value| terminal.env(name, value));
    }
    terminal.current_dir(sandbox.path()).args(["-qefc", &line, "typescript"]);
    let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let said = || fs::read_to_string(sandbox.path().join("typescript")).unwrap_or_default();
    let mut keyboard = child.stdin.take().unwrap();
    assert!(patiently(|| said().matches("submitted job").count() == 2), "{}", said());
    keyboard.write_all(b"\x03").unwrap();
    assert!(patiently(|| said().contains("detach and let the tasks go on")), "{}", said());
    keyboard.write_all(b"c\r").unwrap();
    assert!(patiently(|| child.try_wait().unwrap().is_some()), "{}", said());
    assert!(said().contains("cancelled; to continue later"), "{}", said());
    let unended = ["--noheader", "--states=PENDING,RUNNING"];
    assert!(patiently(|| cluster.said("squeue", &unended).is_empty()), "no task is left");
}

#[test]
fn an_error_of_the_cluster_is_printed_before_anything_is_submitted() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("slurm: refusals") else { return };
    let arguments = ["run", "suite", "--on", "slurm", "--output", "shared/run"];
    let refused = |launch: &str| {
        write_suite(&sandbox, "0.1", launch);
        let finished = Finished::new(firstlight(&sandbox, &cluster, &arguments));
        assert_eq!((finished.code, finished.stdout.as_str()), (2, ""), "{}", finished.stderr);
        finished.stderr
    };
    let text = refused("partition = \"nowhere\"\n");
    assert!(text.contains("invalid partition specified: nowhere"), "{text}");
    let _ = fs::remove_dir_all(sandbox.path().join("shared/run"));
    let text = refused("partition = \"island\"\n");
    assert!(text.contains("does not see `"), "{text}");
    assert!(!sandbox.path().join("shared/run").exists(), "nothing is left behind");
    assert_eq!(cluster.said("squeue", &["--noheader"]), "");
}

/// Programs that precede those of the machine, here and on the nodes, which inherit the variable.
fn wrappers(sandbox: &Sandbox, programs: &[(&str, String)]) -> String {
    for (name, script) in programs {
        let path = sandbox.file(&format!("wrappers/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}:/usr/sbin:/sbin", sandbox.path().join("wrappers").display())
}

#[test]
fn a_cluster_that_limits_submissions_and_whose_clocks_differ_completes_a_run() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("slurm: limits and clocks") else { return };
    let command = |name: &str| format!("exec /usr/bin/{name} \"$@\"");
    let [srun, squeue, scontrol, scancel] =
        ["srun", "squeue", "scontrol", "scancel"].map(|name| (name, command(name)));
    // Accepts one submission at a time.
    let limited = "if ! [ -e \"$0.asked\" ]; then touch \"$0.asked\"; echo 'sbatch: error: \
                   QOSMaxSubmitJobPerUserLimit' >&2; exit 1; fi\n";
    let sbatch = ("sbatch", limited.to_owned() + &command("sbatch"));
    let date = ("date", "exec /bin/date --date='6 minutes' \"$@\"".to_owned());
    let path = wrappers(&sandbox, &[srun, squeue, scontrol, scancel, sbatch, date]);
    write_suite(&sandbox, "0", "");
    let arguments = ["run", "suite", "--on", "slurm", "--output", "shared/run"];
    let mut command = firstlight(&sandbox, &cluster, &arguments);
    command.env("PATH", path);
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("Slurm takes no more now: sbatch: error: QOSMax"));
    let clocks = "warning: the clock of a node differs by 3";
    assert!(finished.stderr.contains(clocks), "{}", finished.stderr);
}

/// Slurm looks at time limits twice a minute, so it warns a task of one minute after 20 to 50 s.
#[test]
fn a_task_whose_time_expires_seals_its_shard_and_is_continued_in_another_allocation() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("slurm: time limit") else { return };
    write_suite(&sandbox, "1.2", "");
    let suite = sandbox.path().join("suite/suite.toml");
    let toml = fs::read_to_string(&suite).unwrap();
    let toml = toml.replace("nodes = 4", "nodes = 1").replace("time = \"10m\"", "time = \"1m\"");
    fs::write(&suite, toml).unwrap();
    let mut child = launched(&sandbox, &cluster, "log.txt");
    let log = || fs::read_to_string(sandbox.path().join("log.txt")).unwrap();
    let mut ended = || patiently(|| child.try_wait().unwrap().is_some());
    assert!(ended() || ended(), "{}", log());
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", log());
    let run = sandbox.path().join("shared/run");
    assert!(lines(&run.join("tasks/00000.begun")).len() >= 2, "{}", log());
    assert!(!log().contains("TIME LIMIT"), "Slurm killed no task: {}", log());
    assert_eq!(measured(&run.join("shards/00000/raw.jsonl")).len(), 48, "{}", log());
}

#[test]
fn a_machine_without_slurm_is_rejected_with_a_hint() {
    let sandbox = Sandbox::new();
    write_suite(&sandbox, "0", "");
    let mut command = sandbox.firstlight();
    command.args(["run", "suite", "--on", "slurm", "--output", "run"]).env("PATH", sandbox.path());
    let finished = Finished::new(command);
    assert_eq!((finished.code, finished.stdout.as_str()), (2, ""));
    assert!(!sandbox.path().join("run").exists());
    insta::assert_snapshot!(finished.stderr, @r"
    error: `sbatch` not found: Slurm is not installed on this machine

    hint: run it on a login node of the cluster, or without `--on slurm`
    ");
}
