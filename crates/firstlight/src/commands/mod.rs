//! One file per command: settings in, exit code out.

mod cold;
mod compare;
mod doctor;
mod report;
mod results;
mod run;
mod show;

pub(crate) use cold::cold;
pub(crate) use compare::compare;
pub(crate) use doctor::doctor;
pub(crate) use report::report;
pub(crate) use run::run;
pub(crate) use show::show;

use firstlight_schema::version::Build;

/// The firstlight that is running.
fn build() -> Build {
    Build::new(env!("CARGO_PKG_VERSION"), option_env!("FIRSTLIGHT_COMMIT"))
}
