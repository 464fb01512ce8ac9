//! One file per command: settings in, exit code out.

mod cold;
mod compare;
mod doctor;
mod export;
mod import;
mod publish;
mod report;
mod results;
mod run;
mod show;
mod snapshot;
mod suite_trace;
mod trace;
mod verify;

pub(crate) use cold::cold;
pub(crate) use compare::compare;
pub(crate) use doctor::doctor;
pub(crate) use export::export;
pub(crate) use import::import;
pub(crate) use publish::publish;
pub(crate) use report::report;
pub(crate) use run::run;
pub(crate) use show::show;
pub(crate) use snapshot::snapshot;
pub(crate) use trace::trace;
pub(crate) use verify::verify;

use firstlight_engine::snapshot::binary_digest;
use firstlight_schema::snapshot::Harness;
use firstlight_schema::version::Build;

/// The firstlight that is running.
pub(crate) fn build() -> Build {
    Build::new(env!("CARGO_PKG_VERSION"), option_env!("FIRSTLIGHT_COMMIT"))
}

/// The same, with what tells it from others of its version.
fn harness() -> Harness {
    Harness {
        build: build(),
        dirty: option_env!("FIRSTLIGHT_COMMIT").map(|commit| commit.ends_with("+changes")),
        binary_sha256: binary_digest(),
    }
}
