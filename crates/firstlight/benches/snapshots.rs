//! Not a bench itself: makes many copies of one snapshot, for `cargo xtask bench publish` and `merge`.

#![expect(clippy::unwrap_used, reason = "a tool for benches that cannot go on has failed")]

#[path = "../tests/resealed/mod.rs"]
mod resealed;

use std::path::PathBuf;
use std::thread;

/// The number of machines of the snapshots.
const MACHINES: u32 = 3;

/// Arguments: a snapshot's folder, the folder for its copies, the first number, the number of copies, and
/// `shards` if each copy is to be a shard from a separate node.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let (arguments, shards) = match arguments.as_slice() {
        [most @ .., last] if last == "shards" => (most, true),
        all => (all, false),
    };
    let [from, to, first, count] = arguments else { return };
    let make = if shards { shard } else { make };
    let (from, to) = (PathBuf::from(from), PathBuf::from(to));
    let (first, count): (u32, u32) = (first.parse().unwrap(), count.parse().unwrap());
    std::fs::create_dir_all(&to).unwrap();
    let (from, to) = (&from, &to);
    thread::scope(|scope| {
        for half in 0..2 {
            let numbers = (first..first + count).filter(move |number| number % 2 == half);
            scope.spawn(move || numbers.for_each(|number| make(from, to, number)));
        }
    });
}

/// Each copy comes from a separate node.
fn shard(from: &std::path::Path, to: &std::path::Path, number: u32) {
    resealed::resealed(from, &to.join(format!("{number:05}")), |origin| {
        origin.node = Some(format!("node{number:05}"));
        origin.boot = Some(format!("boot of node {number}"));
    });
}

/// One snapshot an hour, with the machines in turn; the same number gives the same snapshot.
fn make(from: &std::path::Path, to: &std::path::Path, number: u32) {
    resealed::resealed(from, &to.join(format!("{number:05}")), |origin| {
        let (day, hour) = (number / 24, number % 24);
        let (month, day) = (1 + day / 28, 1 + day % 28);
        origin.created = format!("2026-{month:02}-{day:02}T{hour:02}:00:00.000Z");
        origin.machine.cpu = Some(format!("processor {}", number * 7 % MACHINES));
    });
}
