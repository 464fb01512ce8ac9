//! Documents `cold` of firstlight 0.1, which `firstlight cold` wrote before its results were runs. Their raw
//! readings become the records of a run, from which the run is computed.

use std::collections::BTreeMap;
use std::time::Duration;

use firstlight_analysis::rebuild::rebuild;
use firstlight_schema::cache::CachePolicy;
use firstlight_schema::machine::Machine;
use firstlight_schema::machine_state::MachineState;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::{RawRecord, RawSample, SampleRole, Subject};
use firstlight_schema::run::{EnvironmentKind, RunDocument};
use firstlight_schema::snapshot::{Harness, Origin};
use firstlight_schema::suite::{Choice, DEFAULTS, SuiteFile};
use firstlight_schema::version::{Build, Version};
use serde::Deserialize;

use crate::cold_suite::{ColdSuite, NAME, named, regimes};
use crate::environment::record;

/// The version that is read; later results of `cold` are documents `run`.
pub(super) const MAJOR: u32 = 1;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ColdDocument {
    firstlight: Build,
    created: String,
    command: Vec<String>,
    machine: Machine,
    policy: CachePolicy,
    timeout_ns: Nanos,
    seed: u64,
    samples: Vec<Sample>,
    priming: Vec<RawSample>,
    control: Option<Control>,
}

#[derive(Deserialize)]
struct Sample {
    raw: RawSample,
}

#[derive(Deserialize)]
struct Control {
    samples: Vec<RawSample>,
}

/// Whether a document has this format.
pub(super) fn is_one(name: &str, version: Version) -> bool {
    name == NAME && version.major == MAJOR
}

/// The run computed from the document's readings.
pub(super) fn read(text: &str) -> Result<RunDocument, String> {
    let found: ColdDocument = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (regimes, compilers) = regimes(&[found.policy.compilers])?;
    let regime = regimes[0];
    let suite = ColdSuite {
        arms: named(vec![found.command]),
        regimes,
        policy: CachePolicy { compilers, ..found.policy },
        runs: u32::try_from(found.samples.len()).unwrap_or(u32::MAX).max(1),
        timeout: Duration::from(found.timeout_ns),
        seed: found.seed,
        any_exit_code: false,
        unhooked: found.control.is_some(),
        stdin: None,
    };
    let arm = suite.arms[0].name.clone();
    let suite = SuiteFile::parse(&suite.text()).map_err(|error| error.to_string())?;
    let subject = |regime, round| Subject {
        case: suite.cases[0].name.get_ref().clone(),
        arm: arm.clone(),
        regime,
        round,
        again: false,
    };
    let mut records: Vec<RawRecord> = Vec::new();
    for sample in found.priming {
        records.push(RawRecord { subject: Some(subject(None, None)), sample });
    }
    let measured = found.samples.into_iter().map(|sample| sample.raw);
    let controls = found.control.map(|control| control.samples).unwrap_or_default();
    for samples in [measured.collect(), controls] {
        for (round, sample) in (1..).zip(samples) {
            debug_assert!(sample.role != SampleRole::Priming);
            records.push(RawRecord { subject: Some(subject(Some(regime), Some(round))), sample });
        }
    }
    records.sort_by_key(|record| record.sample.number);
    let unknown = "unknown".to_owned();
    let origin = Origin {
        created: found.created,
        suite: NAME.to_owned(),
        suite_digest: unknown.clone(),
        firstlight: Harness { build: found.firstlight, dirty: None, binary_sha256: None },
        argv: Vec::new(),
        choice: Choice::default(),
        defaults: DEFAULTS,
        variables: BTreeMap::new(),
        machine: found.machine,
        before: MachineState { taken: unknown, ..MachineState::default() },
        environment: record(EnvironmentKind::AsFound),
        boot: None,
        node: None,
        suite_changes: Vec::new(),
        segments: Vec::new(),
        shards: Vec::new(),
    };
    Ok(rebuild(&origin, &suite, None, records))
}
