//! Shards: runs of one suite, possibly on several machines, as one result.
//!
//! A merged result is a run whose segments come from several nodes. Its raw readings are those of the shards,
//! one after the other and unchanged. Only this module gives processes and rounds consecutive numbers.

mod agree;
mod nodes;

use std::collections::BTreeMap;

use firstlight_schema::finding::Reason;
use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::{NodePart, NodeRecord, RunDocument};
use firstlight_schema::snapshot::{Manifest, Origin, ShardEntry};
use firstlight_schema::suite::SuiteFile;

use crate::health::changes;
use crate::rebuild;

pub use agree::{Mismatch, mismatch, repeated};
pub(crate) use nodes::{ratios_of_nodes, times_of_nodes};

/// The origin of the merged run: that of its first shard, with the identifiers of all. `argv` is the command
/// line of the merge.
pub fn origin(shards: &[Manifest], processes: &[u32], argv: Vec<String>) -> Option<Origin> {
    let mut origin = shards.first()?.origin.clone();
    let created = shards.iter().map(|shard| &shard.origin.created).min();
    origin.created.clone_from(created?);
    origin.argv = argv;
    origin.choice.seed = None;
    origin.node = None;
    origin.segments.clear();
    origin.suite_changes =
        shards.iter().flat_map(|one| &one.origin.suite_changes).cloned().collect();
    origin.suite_changes.sort();
    origin.suite_changes.dedup();
    let entry = |(shard, &processes): (&Manifest, &u32)| ShardEntry {
        id: shard.id.clone().unwrap_or_default(),
        processes,
    };
    origin.shards = shards.iter().zip(processes).map(entry).collect();
    Some(origin)
}

/// The records of each shard, split by the counts of the manifest; `None` if they do not fit.
pub fn split(origin: &Origin, records: Vec<RawRecord>) -> Option<Vec<Vec<RawRecord>>> {
    let counts = origin.shards.iter().map(|shard| usize::try_from(shard.processes).ok());
    let counts: Vec<usize> = counts.collect::<Option<_>>()?;
    if counts.iter().sum::<usize>() != records.len() {
        return None;
    }
    let mut left = records.into_iter();
    Some(counts.into_iter().map(|count| left.by_ref().take(count).collect()).collect())
}

/// The whole document of a merged run, or of a plain one if there are no shards. `None` if the records do not
/// match the counts of the manifest.
pub fn rebuild(
    manifest: &Manifest,
    shards: &[Manifest],
    suite: &SuiteFile,
    records: Vec<RawRecord>,
) -> Option<RunDocument> {
    let origin = &manifest.origin;
    if origin.shards.is_empty() {
        return Some(rebuild::rebuild(origin, suite, manifest.after.clone(), records));
    }
    if shards.len() != origin.shards.len() {
        return None;
    }
    let records = join(split(origin, records)?);
    let mut document = rebuild::begin(origin, suite);
    document.nodes = nodes(origin, shards);
    document.segments = starts(&document.nodes);
    rebuild::add_cases(&mut document, suite, records, &firsts(origin));
    rebuild::conclude(&mut document, suite);
    document.machine_notices = shards.iter().flat_map(notices).collect();
    nodes::describe(&mut document);
    Some(document)
}

/// Changes of a node while it measured its shard.
fn notices(shard: &Manifest) -> Vec<Reason> {
    let Some(after) = &shard.after else { return Vec::new() };
    let name = shard.origin.node.as_deref().map_or(String::new(), |name| format!("{name}: "));
    let found = changes(&shard.origin.before, after).into_iter();
    found.map(|one| Reason::new(one.finding, format!("{name}{}", one.text))).collect()
}

/// Consecutive numbers of processes over all shards, and of rounds, so that no two shards share a round.
fn join(shards: Vec<Vec<RawRecord>>) -> Vec<RawRecord> {
    let mut joined: Vec<RawRecord> = Vec::with_capacity(shards.iter().map(Vec::len).sum());
    let mut rounds = 0;
    for shard in shards {
        let mut last = rounds;
        for mut record in shard {
            record.sample.number = u32::try_from(joined.len() + 1).unwrap_or(u32::MAX);
            if let Some(round) = record.subject.as_mut().and_then(|subject| subject.round.as_mut())
            {
                *round = round.saturating_add(rounds);
                last = last.max(*round);
            }
            joined.push(record);
        }
        rounds = last;
    }
    joined
}

/// The number of each shard's first process.
fn firsts(origin: &Origin) -> Vec<u32> {
    let mut next = 1_u32;
    let mut firsts = Vec::with_capacity(origin.shards.len());
    for shard in &origin.shards {
        firsts.push(next);
        next = next.saturating_add(shard.processes);
    }
    firsts
}

/// The number of the first process of each part except the first.
fn starts(nodes: &[NodeRecord]) -> Vec<u32> {
    let parts = nodes.iter().flat_map(|node| &node.parts);
    let mut starts: Vec<u32> = parts.map(|part| part.first).filter(|&first| first > 1).collect();
    starts.sort_unstable();
    starts
}

/// The machines in order of appearance. Parts without a recorded name belong to one node if the machine was
/// not rebooted in between.
fn nodes(origin: &Origin, shards: &[Manifest]) -> Vec<NodeRecord> {
    let mut nodes: Vec<NodeRecord> = Vec::new();
    let mut known: BTreeMap<(Option<&str>, Option<&str>), usize> = BTreeMap::new();
    let firsts = firsts(origin);
    for ((shard, entry), &first) in shards.iter().zip(&origin.shards).zip(&firsts) {
        let of = &shard.origin;
        let later = of.segments.iter().map(|one| (one.first, &one.machine, &one.before));
        let parts: Vec<_> = [(1, &of.machine, &of.before)].into_iter().chain(later).collect();
        for (place, &(start, machine, before)) in parts.iter().enumerate() {
            let end = parts.get(place + 1).map_or(entry.processes + 1, |next| next.0);
            // A segment that ended before its first process was complete has no process.
            let Some(processes) = end.checked_sub(start).filter(|&processes| processes > 0) else {
                continue;
            };
            let (name, boot) = (of.node_of(start), of.boot_of(start));
            let key = (name, boot.filter(|_| name.is_none()));
            let is_known = name.is_some() || boot.is_some();
            let index = if let Some(&index) = known.get(&key).filter(|_| is_known) {
                index
            } else {
                let number = nodes.len() + 1;
                known.insert(key, nodes.len());
                nodes.push(NodeRecord {
                    name: name.map_or_else(|| format!("node-{number}"), str::to_owned),
                    machine: machine.clone(),
                    before: before.clone(),
                    parts: Vec::new(),
                });
                nodes.len() - 1
            };
            let first = first + start - 1;
            nodes[index].parts.push(NodePart { shard: entry.id.clone(), first, processes });
        }
    }
    nodes
}
