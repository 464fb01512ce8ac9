//! The environment variables that place each cache in a private directory, or switch it off.
//!
//! "Off" by variable alone is not clean (Inductor still finds its shared objects), so every policy
//! but `as-found` also names private directories.

use std::ffi::OsString;
use std::path::Path;

use firstlight_schema::cache::{CachePolicy, Layer, Policy};

/// Setting this variable switches JAX's persistent cache on.
const JAX_DIRECTORY: &str = "JAX_COMPILATION_CACHE_DIR";

/// Settings for one process: a value to set, or nothing to remove the variable.
pub(super) type Variables = Vec<(OsString, Option<OsString>)>;

/// The folder of each layer that has one.
pub(super) fn folder(layer: Layer) -> Option<&'static str> {
    match layer {
        Layer::Jax | Layer::XlaAutotune => Some("jax"),
        Layer::Inductor => Some("inductor"),
        Layer::Triton => Some("triton"),
        Layer::Cuda => Some("cuda"),
        Layer::Numba => Some("numba"),
        Layer::Bytecode => Some("bytecode"),
        Layer::InductorFxGraph | Layer::InductorAotAutograd | Layer::PageCache => None,
    }
}

/// Inductor keeps its precompiled headers in the temporary folder regardless of its settings.
pub(super) const TEMPORARY: &str = "tmp";

/// `own` are the settings that the command brings along.
pub(super) fn variables(
    policy: CachePolicy,
    root: &Path,
    own: &[(OsString, Option<OsString>)],
) -> Variables {
    let mut variables = Vec::new();
    compilers(policy.compilers, root, own, &mut variables);
    bytecode(policy.bytecode, root, &mut variables);
    variables
}

fn compilers(
    policy: Policy,
    root: &Path,
    own: &[(OsString, Option<OsString>)],
    variables: &mut Variables,
) {
    if policy == Policy::AsFound {
        return;
    }
    let mut path = |name: &str, folder: &str| {
        variables.push((name.into(), Some(root.join(folder).into_os_string())));
    };
    // Without a directory JAX keeps no cache, and the user's own start pays for none.
    if policy != Policy::AsConfigured || is_set(JAX_DIRECTORY, own) {
        path(JAX_DIRECTORY, "jax");
    }
    path("TORCHINDUCTOR_CACHE_DIR", "inductor");
    path("TRITON_CACHE_DIR", "triton");
    path("CUDA_CACHE_PATH", "cuda");
    path("NUMBA_CACHE_DIR", "numba");
    path("TMPDIR", TEMPORARY);
    if policy == Policy::AsConfigured {
        return;
    }
    let off = policy == Policy::Disabled;
    let mut set = |name: &str, value: Option<&str>| {
        variables.push((name.into(), value.map(Into::into)));
    };
    set("JAX_ENABLE_COMPILATION_CACHE", Some(if off { "false" } else { "true" }));
    // By default JAX stores only programs that took over a second to compile, so chance would decide which
    // programs are stored.
    set("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", Some("0"));
    set("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", Some("-1"));
    set("TORCHINDUCTOR_FX_GRAPH_CACHE", Some(if off { "0" } else { "1" }));
    set("TORCHINDUCTOR_AUTOGRAD_CACHE", Some(if off { "0" } else { "1" }));
    set("TORCHINDUCTOR_FORCE_DISABLE_CACHES", off.then_some("1"));
    set("TRITON_ALWAYS_COMPILE", off.then_some("1"));
    set("CUDA_CACHE_DISABLE", Some(if off { "1" } else { "0" }));
}

/// Whether a process finds a variable in its environment.
fn is_set(name: &str, own: &[(OsString, Option<OsString>)]) -> bool {
    match own.iter().rev().find(|(known, _)| known == name) {
        Some((_, value)) => value.is_some(),
        None => std::env::var_os(name).is_some(),
    }
}

fn bytecode(policy: Policy, root: &Path, variables: &mut Variables) {
    if policy == Policy::AsFound {
        return;
    }
    let prefix = root.join("bytecode").into_os_string();
    variables.push(("PYTHONPYCACHEPREFIX".into(), Some(prefix)));
    let never_write = (policy == Policy::Disabled).then(|| "1".into());
    variables.push(("PYTHONDONTWRITEBYTECODE".into(), never_write));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use firstlight_schema::cache::{CachePolicy, Policy};

    use super::{Variables, variables};

    /// The value of a variable; `-` if it is removed.
    fn value(policy: Policy, name: &str) -> String {
        let policy =
            CachePolicy { compilers: policy, bytecode: policy, page_cache: Policy::AsFound };
        let (_, value) = variables(policy, Path::new("/s"), &Vec::new())
            .into_iter()
            .find(|(known, _)| known == name)
            .expect("the variable is governed");
        value.map_or("-".to_owned(), |value| value.into_string().unwrap())
    }

    #[test]
    fn as_configured_gives_private_directories_and_switches_nothing() {
        let policy = CachePolicy {
            compilers: Policy::AsConfigured,
            bytecode: Policy::AsFound,
            page_cache: Policy::AsFound,
        };
        let names = |own: Variables| -> Vec<String> {
            let set = variables(policy, Path::new("/s"), &own).into_iter();
            set.map(|(name, _)| name.into_string().unwrap()).collect()
        };
        let set = names(Vec::new());
        let private = ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH"];
        assert!(private.iter().all(|name| set.iter().any(|known| known == name)), "{set:?}");
        let switches = ["JAX_ENABLE_COMPILATION_CACHE", "TORCHINDUCTOR_FX_GRAPH_CACHE"];
        assert!(!switches.iter().any(|name| set.iter().any(|known| known == name)), "{set:?}");
        assert!(!set.contains(&super::JAX_DIRECTORY.to_owned()), "{set:?}");
        let on = names(vec![(super::JAX_DIRECTORY.into(), Some("/mine".into()))]);
        assert!(on.contains(&super::JAX_DIRECTORY.to_owned()), "{on:?}");
    }

    #[test]
    fn as_found_changes_nothing() {
        let policy = CachePolicy {
            compilers: Policy::AsFound,
            bytecode: Policy::AsFound,
            page_cache: Policy::AsFound,
        };
        assert!(variables(policy, Path::new("/s"), &Vec::new()).is_empty());
    }

    #[test]
    fn jax_stores_every_program_however_quickly_it_compiled() {
        for policy in [Policy::Clean, Policy::Primed] {
            assert_eq!(value(policy, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"), "0");
            assert_eq!(value(policy, "JAX_ENABLE_COMPILATION_CACHE"), "true");
        }
    }

    #[test]
    fn disabled_switches_off_and_still_gives_private_directories() {
        assert_eq!(value(Policy::Disabled, "TORCHINDUCTOR_FORCE_DISABLE_CACHES"), "1");
        assert_eq!(value(Policy::Disabled, "TORCHINDUCTOR_CACHE_DIR"), "/s/inductor");
    }

    #[test]
    fn a_users_own_switch_is_removed_when_caches_are_wanted() {
        assert_eq!(value(Policy::Clean, "TORCHINDUCTOR_FORCE_DISABLE_CACHES"), "-");
        assert_eq!(value(Policy::Primed, "PYTHONDONTWRITEBYTECODE"), "-");
    }
}
