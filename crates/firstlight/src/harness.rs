//! Identifies the running firstlight.

use firstlight_engine::snapshot::binary_digest;
use firstlight_schema::snapshot::Harness;
use firstlight_schema::version::Build;

/// The firstlight that is running.
pub(crate) fn build() -> Build {
    Build::new(env!("CARGO_PKG_VERSION"), option_env!("FIRSTLIGHT_COMMIT"))
}

/// The same, with commit and digest.
pub(crate) fn harness() -> Harness {
    Harness {
        build: build(),
        dirty: option_env!("FIRSTLIGHT_COMMIT").map(|commit| commit.ends_with("+changes")),
        binary_sha256: binary_digest(),
    }
}
