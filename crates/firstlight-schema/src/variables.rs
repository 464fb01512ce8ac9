//! The names of all environment variables that firstlight reads or sets.

/// The descriptor on which a runner or the hooks speak the protocol.
pub const FD: &str = "FIRSTLIGHT_FD";
/// The process that started the measured command, so that the hooks can tell a launcher is between.
pub const PARENT: &str = "FIRSTLIGHT_PARENT";
/// The user's own `PYTHONPATH`, to be put back once the hooks are loaded.
pub const ORIGINAL_PYTHONPATH: &str = "FIRSTLIGHT_PYTHONPATH";
/// Where runs are kept; overrides the state directory.
pub const RUNS: &str = "FIRSTLIGHT_RUNS";
/// Where environments and the Python side are kept; overrides the cache directory.
pub const CACHE: &str = "FIRSTLIGHT_CACHE";

pub const PYTHONPATH: &str = "PYTHONPATH";
pub const HOME: &str = "HOME";
pub const PATH: &str = "PATH";
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
