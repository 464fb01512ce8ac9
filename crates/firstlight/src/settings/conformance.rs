//! Settings of `firstlight conformance`.

use std::collections::BTreeMap;
use std::time::Duration;

use firstlight_schema::message::Prepare;

use crate::args::{ConformanceArgs, Format};

#[derive(Debug)]
pub(crate) struct ConformanceSettings {
    /// Empty for firstlight's own Python runner.
    pub(crate) command: Vec<String>,
    pub(crate) prepare: Prepare,
    pub(crate) timeout: Duration,
    pub(crate) format: Format,
}

impl ConformanceSettings {
    pub(crate) fn resolve(args: ConformanceArgs, format: Format) -> Self {
        let prepare = Prepare {
            workload: args.workload.map(|path| path.to_string_lossy().into_owned()),
            case: "conformance".to_owned(),
            parameters: args.set.into_iter().collect(),
            arm: "runner".to_owned(),
            options: BTreeMap::new(),
        };
        Self { command: args.command, prepare, timeout: args.timeout, format }
    }
}
