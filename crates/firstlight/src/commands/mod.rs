//! One file per command: settings in, exit code out.

mod cold;
mod doctor;
mod run;

pub(crate) use cold::cold;
pub(crate) use doctor::doctor;
pub(crate) use run::run;

use firstlight_schema::version::Build;

/// The firstlight that is running.
fn build() -> Build {
    Build::new(env!("CARGO_PKG_VERSION"), option_env!("FIRSTLIGHT_COMMIT"))
}
