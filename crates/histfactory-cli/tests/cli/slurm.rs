//! Toys and limits on a real Slurm with two nodes.

// Both shells start the same daemons.
#[path = "../../../firstlight/tests/cli/slurm/cluster.rs"]
mod cluster;

use std::fs;
use std::process::Command;

use crate::support::{Finished, Sandbox};
use cluster::Cluster;

const TOYS: [&str; 6] = ["toys", "small.json", "--toys", "60", "--test-stat", "qtilde"];

fn sandbox_on_a_cluster(test: &str) -> Option<(Sandbox, Cluster)> {
    let sandbox = Sandbox::new();
    for name in ["shared", "slurm"] {
        fs::create_dir(sandbox.path().join(name)).unwrap();
    }
    let (slurm, shared) = (sandbox.path().join("slurm"), sandbox.path().join("shared"));
    let cluster = Cluster::start(test, &slurm, &shared)?;
    Some((sandbox, cluster))
}

fn command(sandbox: &Sandbox, cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(arguments);
    cluster.configured(&mut command);
    command
}

fn run(sandbox: &Sandbox, cluster: &Cluster, arguments: &[&str]) -> Finished {
    Finished::new(command(sandbox, cluster, arguments).output().unwrap())
}

/// The starts of a task, as its script recorded them.
fn starts(sandbox: &Sandbox, task: u32) -> usize {
    let path = sandbox.path().join(format!("shared/job/tasks/{task:05}.begun"));
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[test]
fn toys_over_two_nodes_are_those_in_one_piece_and_only_a_missing_shard_is_computed_again() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("histfactory slurm: toys") else { return };
    let whole = sandbox.run(&TOYS);
    let on = ["--on", "slurm", "--folder", "shared/job", "--tasks", "4", "--time", "5m"];
    let finished = run(&sandbox, &cluster, &[&TOYS[..], &on].concat());
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert_eq!(finished.stdout, whole.stdout);
    // Arrays have at most three tasks on this cluster.
    assert_eq!(finished.stderr.matches("submitted job").count(), 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("4 of 4 complete"), "{}", finished.stderr);
    assert!(finished.stderr.contains("s for Slurm in the median"), "{}", finished.stderr);
    assert!((0..4).all(|task| starts(&sandbox, task) == 1), "{}", finished.stderr);

    // One shard is lost and one was cut off: these two are computed again, and nothing else.
    let shard = |task: u32| sandbox.path().join(format!("shared/job/shards/{task:05}.json"));
    fs::remove_file(shard(1)).unwrap();
    let text = fs::read_to_string(shard(3)).unwrap();
    fs::write(shard(3), &text[..text.len() - 40]).unwrap();
    let resumed = run(&sandbox, &cluster, &["attach", "shared/job"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert_eq!(resumed.stdout, whole.stdout);
    let starts = [0, 1, 2, 3].map(|task| starts(&sandbox, task));
    assert_eq!(starts, [1, 2, 1, 2], "{}", resumed.stderr);

    let taken = run(&sandbox, &cluster, &[&TOYS[..], &on].concat());
    assert_eq!(taken.code, 2);
    assert!(taken.stderr.contains("shared/job` already exists"), "{}", taken.stderr);
}

#[test]
fn storage_that_is_not_shared_and_an_unknown_partition_are_refused_before_anything_is_submitted() {
    let Some((sandbox, cluster)) = sandbox_on_a_cluster("histfactory slurm: refusals") else {
        return;
    };
    let refused = |partition: &str| {
        let on = ["--on", "slurm", "--folder", "shared/job", "--partition", partition];
        let finished = run(&sandbox, &cluster, &[&TOYS[..], &on].concat());
        assert_eq!((finished.code, finished.stdout.as_str()), (2, ""), "{}", finished.stderr);
        assert!(!sandbox.path().join("shared/job").exists(), "nothing is left behind");
        assert_eq!(cluster.said("squeue", &["--noheader"]), "");
        finished.stderr
    };
    let text = refused("nowhere");
    assert!(text.contains("invalid partition specified: nowhere"), "{text}");
    let text = refused("island");
    assert!(text.contains("does not see `"), "{text}");
}
