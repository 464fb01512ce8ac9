//! Names and meanings of all environment variables that firstlight reads or sets. Those that configure the
//! frameworks' caches are in `firstlight-engine`, `cache`.

pub const FD: &str = "FIRSTLIGHT_FD";
pub const PARENT: &str = "FIRSTLIGHT_PARENT";
/// Marks all processes that one firstlight has started, so that none outlives it.
pub const SESSION: &str = "FIRSTLIGHT_SESSION";
pub const ORIGINAL_PYTHONPATH: &str = "FIRSTLIGHT_PYTHONPATH";
pub const TRACE_FOLDER: &str = "FIRSTLIGHT_TRACE_FOLDER";
pub const TRACE_LEVEL: &str = "FIRSTLIGHT_TRACE_LEVEL";
pub const TRACE_WORK: &str = "FIRSTLIGHT_TRACE_WORK";
/// A configuration file, instead of the nearest one; empty for none.
pub const CONFIG: &str = "FIRSTLIGHT_CONFIG";
pub const RUNS: &str = "FIRSTLIGHT_RUNS";
/// The folder in which firstlight was started, for workloads that use it.
pub const STARTED_IN: &str = "FIRSTLIGHT_STARTED_IN";
pub const ARTEFACTS: &str = "FIRSTLIGHT_ARTEFACTS";
pub const CACHE: &str = "FIRSTLIGHT_CACHE";
/// The folder for environments and caches on nodes of a cluster.
pub const LOCAL: &str = "FIRSTLIGHT_LOCAL";
/// Set for tasks of a Slurm array: the number that is added to the index within the array.
pub const OFFSET: &str = "FIRSTLIGHT_OFFSET";
pub const PYTHONPATH: &str = "PYTHONPATH";
pub const HOME: &str = "HOME";
pub const PATH: &str = "PATH";
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
pub const NO_COLOR: &str = "NO_COLOR";

/// Each name with its meaning, for the reference.
pub const ALL: [(&str, &str); 20] = [
    (RUNS, "read: the folder for runs, instead of the state folder"),
    (CACHE, "read: the folder for environments, suites and hooks, instead of the cache folder"),
    (CONFIG, "read: the configuration file, instead of the nearest one; empty for none"),
    (
        LOCAL,
        "read on nodes of a cluster: a folder on the node's own disk for environments and caches",
    ),
    (OFFSET, "set for tasks of a Slurm array: what is added to the index within the array"),
    (NO_COLOR, "read: no colours when set"),
    (XDG_STATE_HOME, "read: the state folder; runs are kept in `firstlight/runs` below it"),
    (XDG_CACHE_HOME, "read: the cache folder; `firstlight` below it can be deleted at any time"),
    (HOME, "read: where the state and cache folders are when they are not set"),
    (PATH, "read: where programs and interpreters are found"),
    (PYTHONPATH, "set while the hooks are loaded, then restored"),
    (FD, "set for measured processes: the descriptor of the runner protocol"),
    (PARENT, "set for measured processes: the process that started them"),
    (SESSION, "set for all processes that firstlight starts, so that its watchdog finds them"),
    (ARTEFACTS, "set for arms with `artefacts = true`: a folder that all their processes share"),
    (STARTED_IN, "set for measured processes: the folder in which firstlight was started"),
    (TRACE_FOLDER, "set by `firstlight trace --record`: the folder for a run's trace"),
    (TRACE_LEVEL, "set by `firstlight trace --record`: none, host or python"),
    (TRACE_WORK, "set by `firstlight trace --suite`: the arm to call, and how often"),
    (ORIGINAL_PYTHONPATH, "set for measured processes: the user's own `PYTHONPATH`"),
];
