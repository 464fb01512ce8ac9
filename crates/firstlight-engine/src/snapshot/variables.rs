//! Environment variables that change what is measured, and nothing that could be a secret.

use std::collections::BTreeMap;
use std::env;

/// Beginnings of the names that are recorded. Nothing else ever is.
const PREFIXES: [&str; 17] = [
    "CUDA_",
    "INDUCTOR_",
    "JAX_",
    "JAXLIB_",
    "KMP_",
    "MKL_",
    "NUMBA_",
    "NVIDIA_TF32_",
    "OMP_",
    "OPENBLAS_",
    "PYTORCH_",
    "TF_CPP_",
    "TF_ENABLE_",
    "TF_XLA_",
    "TORCH",
    "TRITON_",
    "XLA_",
];
const NAMES: [&str; 6] = [
    "GOMP_CPU_AFFINITY",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONOPTIMIZE",
];
/// Parts of names that are never recorded, whatever they begin with.
const SECRETS: [&str; 7] = ["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN", "USER"];
const LONGEST: usize = 200;

/// The variables of the allow-list that are set.
pub fn variables() -> BTreeMap<String, Option<String>> {
    let set = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    chosen(set)
}

fn chosen(set: impl Iterator<Item = (String, String)>) -> BTreeMap<String, Option<String>> {
    set.filter(|(name, _)| is_wanted(name))
        .map(|(name, value)| {
            let shown = if value.is_empty() { "(empty)".to_owned() } else { value };
            (name, is_plain(&shown).then_some(shown))
        })
        .collect()
}

fn is_wanted(name: &str) -> bool {
    let listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    listed && !SECRETS.iter().any(|secret| name.to_uppercase().contains(secret))
}

/// Whether a value can be neither a path nor a secret: settings are short words and numbers.
fn is_plain(value: &str) -> bool {
    const LONGEST_WORD: usize = 40;
    let plain = |c: char| c.is_ascii_alphanumeric() || " ()_+=,.:;-".contains(c);
    let mut words = value.split([' ', ',', '=', ';', ':']);
    let opaque = |word: &str| {
        word.len() >= 20
            && word.chars().any(|c| c.is_ascii_digit())
            && word.chars().any(|c| c.is_ascii_uppercase())
            && word.chars().any(|c| c.is_ascii_lowercase())
    };
    value.len() <= LONGEST
        && value.chars().all(plain)
        && !words.any(|word| word.len() > LONGEST_WORD || opaque(word))
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn only_listed_variables_are_recorded_and_paths_and_secrets_are_withheld() {
        let set = [
            ("HOME", "/home/someone"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("JAX_AUTH_TOKEN", "x"),
            ("JAX_ENABLE_X64", "1"),
            ("JAX_COMPILATION_CACHE_DIR", "/home/someone/cache"),
            ("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"),
            ("TORCH_THING", "ghp9aB3xY7zQ1wE5rT8uI2oP"),
            ("CUDA_VISIBLE_DEVICES", ""),
        ];
        let found = chosen(set.into_iter().map(|(name, value)| (name.into(), value.into())));
        let shown: Vec<(&str, Option<&str>)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        let flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1";
        assert_eq!(
            shown,
            [
                ("CUDA_VISIBLE_DEVICES", Some("(empty)")),
                ("JAX_COMPILATION_CACHE_DIR", None),
                ("JAX_ENABLE_X64", Some("1")),
                ("TORCH_THING", None),
                ("XLA_FLAGS", Some(flags)),
            ]
        );
    }
}
