//! Rules of a merged snapshot: every shard is checked as a separate run.

use firstlight_analysis::rules;
use firstlight_analysis::shards::{self, mismatch, repeated};
use firstlight_engine::sampling::turns;
use firstlight_engine::snapshot::{Files, check_shards};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::{MANIFEST, Manifest, RAW, SHARDS};
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::validation::{MOST_PLACES, Place, Rule, RuleOutcome, RuleResult};

use super::records::on_all_cores;

/// The inventory of a merged snapshot also covers its shards.
pub(super) fn inventory(
    found: RuleResult,
    files: &Files,
    manifest: &Manifest,
    shards: &[Manifest],
    suite: &SuiteFile,
) -> RuleResult {
    let mut places = check_shards(files, manifest, shards);
    places.extend(follows(manifest, shards));
    if let Some((first, others)) = shards.split_first() {
        for (line, other) in others.iter().enumerate() {
            let Some(wrong) = mismatch(first, other, &suite.launch.same) else { continue };
            let at = format!("{}/{}", line + 2, wrong.key);
            places.push(Place::file(SHARDS, wrong.other, wrong.first).at(at));
        }
    }
    if places.is_empty() {
        let evidence = format!("{}; raw readings of {} shards", found.evidence, shards.len());
        return RuleResult { evidence, ..found };
    }
    let before = found.places;
    let places = before.into_iter().chain(places).take(MOST_PLACES).collect();
    RuleResult::unless(Rule::Inventory, places, found.evidence)
}

/// Checks that the origin in the manifest matches that of its shards.
fn follows(manifest: &Manifest, shards: &[Manifest]) -> Option<Place> {
    let origin = &manifest.origin;
    let processes: Vec<u32> = origin.shards.iter().map(|shard| shard.processes).collect();
    let expected = shards::origin(shards, &processes, origin.argv.clone());
    (expected.as_ref() != Some(origin))
        .then(|| Place::file(MANIFEST, "another beginning", "that of the shards").at("/origin"))
}

/// The rules about processes, for each shard with its own seed and its own clock.
pub(super) fn processes(
    manifest: &Manifest,
    shards: &[Manifest],
    suite: &SuiteFile,
    records: &[RawRecord],
) -> Vec<RuleResult> {
    let mut rest = records;
    let mut parts: Vec<(&Manifest, &[RawRecord])> = Vec::new();
    for (shard, entry) in shards.iter().zip(&manifest.origin.shards) {
        let count = usize::try_from(entry.processes).unwrap_or(usize::MAX).min(rest.len());
        let (mine, others) = rest.split_at(count);
        parts.push((shard, mine));
        rest = others;
    }
    let results = on_all_cores(&parts, |place, (shard, records)| {
        let mut suite = suite.clone();
        let own = shard.origin.choice.seed;
        suite.sampling.seed = own.unwrap_or(suite.sampling.seed);
        let order = |things, rounds| turns(things, rounds, suite.sampling.seed);
        let mut results = [
            rules::fresh_processes(records, &shard.origin),
            rules::times(records, &suite),
            rules::interleaved(records, &suite, &shard.origin, &order),
        ];
        let places = results.iter_mut().flat_map(|result| &mut result.places);
        places.for_each(|found| found.file = format!("{}, shard {}", found.file, place + 1));
        results
    });
    let mut combined = [Rule::FreshProcesses, Rule::Times, Rule::Interleaved]
        .map(|rule| together(rule, results.iter().flatten(), shards.len(), records.len()));
    if let Some((first, second)) = repeated(&parts) {
        let published = format!("shards {} and {} share a process", first + 1, second + 1);
        let place = Place::file(RAW, published, "every process once");
        combined[0] = RuleResult::unless(Rule::FreshProcesses, vec![place], "");
    }
    combined.into()
}

/// Combines the results of one rule for all shards.
fn together<'a>(
    rule: Rule,
    results: impl Iterator<Item = &'a RuleResult> + Clone,
    shards: usize,
    processes: usize,
) -> RuleResult {
    let of_rule = results.filter(|result| result.rule == rule);
    let places: Vec<Place> =
        of_rule.clone().flat_map(|result| &result.places).take(MOST_PLACES).cloned().collect();
    let evidence = format!("{processes} processes of {shards} shards, each checked on its own");
    let mut result = RuleResult::unless(rule, places, evidence);
    let warns = of_rule.filter(|one| one.outcome == RuleOutcome::Warn).count();
    if result.outcome == RuleOutcome::Pass && warns > 0 {
        result.outcome = RuleOutcome::Warn;
        result.evidence = format!("{}; {warns} shards with a warning", result.evidence);
    }
    result
}
