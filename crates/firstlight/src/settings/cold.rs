//! Settings of `firstlight cold`.

use std::time::Duration;

use firstlight_engine::process::Show;
use firstlight_schema::cache::{CachePolicy, Policy};

use super::Destination;
use crate::args::{ColdArgs, Format};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct ColdSettings {
    pub(crate) command: Vec<String>,
    pub(crate) runs: u32,
    pub(crate) policy: CachePolicy,
    pub(crate) timeout: Duration,
    pub(crate) control: bool,
    pub(crate) any_exit_code: bool,
    pub(crate) show: Show,
    pub(crate) seed: u64,
    pub(crate) destination: Destination,
}

impl ColdSettings {
    pub(crate) fn resolve(args: ColdArgs, format: Format) -> Result<Self, Error> {
        if !matches!(args.page_cache, Policy::Clean | Policy::AsFound) {
            return Err(Error::Usage(format!(
                "the page cache can be `clean` or `as-found`, not `{}`",
                args.page_cache
            )));
        }
        if args.timeout.is_zero() {
            return Err(Error::Usage("the timeout is zero".to_owned()));
        }
        Ok(Self {
            command: args.command,
            runs: args.runs,
            policy: CachePolicy {
                compilers: args.cache,
                bytecode: args.bytecode,
                page_cache: args.page_cache,
            },
            timeout: args.timeout,
            control: args.control,
            any_exit_code: args.ignore_exit_code,
            show: match (args.show_output, format) {
                (false, _) => Show::Tail,
                (true, Format::Text) => Show::Inherit,
                (true, Format::Json) => Show::OnStderr,
            },
            seed: args.seed,
            destination: Destination::new(format, args.export_json, args.output),
        })
    }
}
