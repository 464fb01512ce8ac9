//! Checks that processes are fresh, ran one after the other, and follow the order of the seed.

use std::collections::{BTreeMap, BTreeSet};

use firstlight_schema::message::Message;
use firstlight_schema::reading::{RawRecord, RawSample, SampleRole, Subject};
use firstlight_schema::snapshot::{Origin, RAW};
use firstlight_schema::suite::{CaseFile, Regime, SuiteFile};
use firstlight_schema::validation::{MOST_PLACES, Place, Rule, RuleOutcome, RuleResult};

use crate::stopping::{GiveUp, Terms};

/// The order of arms for a number of arms and rounds.
pub type Order<'a> = dyn Fn(usize, usize) -> Vec<Vec<usize>> + 'a;

/// Checks that every sample is a separate process, started after the previous one had been reaped. Clocks of
/// different boots of the machine are not compared.
pub fn fresh_processes(records: &[RawRecord], origin: &Origin) -> RuleResult {
    let mut places = Vec::new();
    let mut pids = BTreeSet::new();
    let mut spoke = 0;
    for (index, record) in records.iter().enumerate() {
        let sample = &record.sample;
        let mut wrong = |field: &str, published: u64, expected: String| {
            let at = format!("{}/sample/{field}", index + 1);
            if places.len() < MOST_PLACES {
                places.push(Place::file(RAW, published.to_string(), expected).at(at));
            }
        };
        if usize::try_from(sample.number).ok() != Some(index + 1) {
            wrong("number", u64::from(sample.number), (index + 1).to_string());
        }
        let boot = |record: &RawRecord| origin.boot_of(record.sample.number);
        let before = index.checked_sub(1).map(|last| &records[last]);
        let before = before.filter(|last| boot(last) == boot(record));
        let before = before.map_or(0, |last| last.sample.reaped.0);
        if sample.spawn.0 < before {
            wrong("spawn", sample.spawn.0, format!("not before {before}"));
        }
        if sample.exec < sample.spawn || sample.reaped < sample.exec {
            wrong("exec", sample.exec.0, "between spawn and reaped".to_owned());
        }
        for (pid, at) in hellos(sample) {
            spoke += 1;
            pids.insert(pid);
            if at < sample.spawn.0 || at > sample.reaped.0 {
                wrong("messages", at, "hello between spawn and reaped".to_owned());
            }
        }
    }
    let evidence = format!(
        "{} processes, none started before the last had been reaped; {spoke} spoke, from {} pids",
        records.len(),
        pids.len(),
    );
    let mut result = RuleResult::unless(Rule::FreshProcesses, places, evidence);
    // Process ids are reused, though seldom this soon.
    if result.outcome == RuleOutcome::Pass && pids.len() < spoke {
        result.outcome = RuleOutcome::Warn;
    }
    result
}

fn hellos(sample: &RawSample) -> impl Iterator<Item = (u32, u64)> {
    sample.messages.iter().filter_map(|message| match message {
        Message::Hello(hello) => Some((hello.pid, hello.at.0)),
        _ => None,
    })
}

/// Checks that the arms of each case ran in the order of the seed, and none was skipped.
pub fn interleaved(
    records: &[RawRecord],
    suite: &SuiteFile,
    origin: &Origin,
    order: &Order<'_>,
) -> RuleResult {
    let mut places = Vec::new();
    let mut known = 0;
    for case in &suite.cases {
        let name = case.name.get_ref();
        let of_case: Vec<(usize, &RawRecord)> = records
            .iter()
            .enumerate()
            .filter(|(_, record)| record.subject.as_ref().is_some_and(|s| s.case == *name))
            .collect();
        known += of_case.len();
        places.extend(check_case(&of_case, suite, case, origin, order, records.len()));
    }
    if known != records.len() {
        let (found, expected) = (records.len().to_string(), format!("{known} of known cases"));
        places.push(Place::file(RAW, found, expected).at("the number of records"));
    }
    let evidence = format!("{} processes, seed {}", records.len(), suite.sampling.seed);
    RuleResult::unless(Rule::Interleaved, places, evidence)
}

/// A position in a case's order: the round, the regime and the arm.
type Turn = (usize, usize, usize);

fn check_case(
    records: &[(usize, &RawRecord)],
    suite: &SuiteFile,
    case: &CaseFile,
    origin: &Origin,
    order: &Order<'_>,
    all: usize,
) -> Vec<Place> {
    let contenders: Vec<(&str, bool)> = suite
        .arms_of(case)
        .map(|arm| (arm.name.get_ref().as_str(), false))
        .chain(suite.control_of(case).map(|arm| (arm, true)))
        .collect();
    let regimes = suite.regimes_of(case);
    let rounds = order(contenders.len(), records.len());
    let mut places = Vec::new();
    let mut last: Option<Turn> = None;
    let mut give_up = vec![GiveUp::default(); contenders.len()];
    let mut gone: Vec<bool> = vec![false; contenders.len()];
    let mut measured: Vec<bool> = vec![false; contenders.len()];
    let mut seen: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut owed: BTreeMap<(usize, usize), Vec<bool>> = BTreeMap::new();
    let mut part = 0;
    for &(index, record) in records {
        let resumed =
            origin.segments.iter().filter(|one| one.first <= record.sample.number).count();
        if resumed > part {
            part = resumed;
            measured.fill(false);
        }
        let mut wrong = |published: String, expected: &str| {
            let at = format!("{}/subject", index + 1);
            if places.len() < MOST_PLACES {
                places.push(Place::file(RAW, published, expected).at(at));
            }
        };
        let Some(subject) = &record.subject else { continue };
        let who = contenders
            .iter()
            .position(|&(arm, again)| arm == subject.arm && again == subject.again);
        let Some(who) = who else {
            wrong(subject.arm.clone(), "an arm of the case");
            continue;
        };
        let was_gone = gone[who];
        let terms = Terms::new(suite, &subject.arm, subject.regime);
        gone[who] |= give_up[who].after(&record.sample, subject.regime, terms).is_some();
        match record.sample.role {
            SampleRole::Measured => {}
            // A process that determines a command's interpreter comes first for its arm; a resumed run fills
            // the caches again.
            SampleRole::Priming => {
                let shows = subject.regime.is_some() || part > 0;
                let may_come = last.is_none() || !measured[who] && shows;
                if !may_come {
                    wrong("a priming process".to_owned(), "no priming after the first sample");
                }
                continue;
            }
            // It belongs to the measured process of its turn.
            SampleRole::Control => continue,
        }
        measured[who] = true;
        let turn = subject.regime.zip(subject.round).and_then(|(regime, round)| {
            let regime = regimes.iter().position(|&known| known == regime)?;
            let round = usize::try_from(round).ok()?.checked_sub(1)?;
            let place = rounds.get(round)?.iter().position(|&one| one == who)?;
            Some((round, regime, place))
        });
        match turn {
            None => wrong(place_in_case(subject), "a regime and a round of the case"),
            Some(turn) if last.is_some_and(|last| turn <= last) => {
                wrong(format!("{} in round {}", subject.arm, turn.0 + 1), "another arm's turn");
            }
            Some(_) if was_gone => {
                wrong(subject.arm.clone(), "no process of an arm that was given up");
            }
            Some(turn) => {
                let group = (turn.0, turn.1);
                owed.entry(group).or_insert_with(|| gone.clone());
                seen.entry(group).or_default().push(who);
                last = Some(turn);
            }
        }
    }
    places.extend(missing(&contenders, &seen, &owed, records, all));
    places
}

/// The regime and the round that a process claims.
fn place_in_case(subject: &Subject) -> String {
    let regime = subject.regime.map_or("no regime", Regime::name);
    match subject.round {
        Some(round) => format!("{regime}, round {round}"),
        None => format!("{regime}, no round"),
    }
}

/// Arms that were not abandoned but have no process in a round.
fn missing(
    contenders: &[(&str, bool)],
    seen: &BTreeMap<(usize, usize), Vec<usize>>,
    gone: &BTreeMap<(usize, usize), Vec<bool>>,
    records: &[(usize, &RawRecord)],
    all: usize,
) -> Vec<Place> {
    let ends_the_run = records.last().is_some_and(|&(index, _)| index + 1 == all);
    let unfinished = seen.keys().next_back().filter(|_| ends_the_run);
    let mut places = Vec::new();
    for (group, present) in seen.iter().filter(|(group, _)| Some(*group) != unfinished) {
        for (who, (arm, _)) in contenders.iter().enumerate() {
            let given_up = gone.get(group).is_some_and(|gone| gone[who]);
            if !present.contains(&who) && !given_up {
                let expected = format!("a process of {arm} in round {}", group.0 + 1);
                places.push(Place::file(RAW, "none", expected));
            }
        }
    }
    places
}
