//! Environment variables that affect a measurement, without possible secrets.

use std::collections::BTreeMap;
use std::env;

use crate::secrets::is_secret;

/// The names that are recorded, each in full: a name that only begins alike may hold anything.
const NAMES: [&str; 74] = [
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "GOMP_CPU_AFFINITY",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_COMPILATION_CACHE_MAX_SIZE",
    "JAX_CPU_COLLECTIVES_IMPLEMENTATION",
    "JAX_DEBUG_NANS",
    "JAX_DEFAULT_DTYPE_BITS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DISABLE_JIT",
    "JAX_DISABLE_MOST_OPTIMIZATIONS",
    "JAX_ENABLE_COMPILATION_CACHE",
    "JAX_ENABLE_PGLE",
    "JAX_ENABLE_X64",
    "JAX_LOG_COMPILES",
    "JAX_NUM_CPU_DEVICES",
    "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "JAX_THREEFRY_PARTITIONABLE",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "NUMBA_CACHE_DIR",
    "NUMBA_CPU_NAME",
    "NUMBA_DISABLE_JIT",
    "NUMBA_NUM_THREADS",
    "NUMBA_OPT",
    "NUMBA_THREADING_LAYER",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_DYNAMIC",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_SCHEDULE",
    "OMP_WAIT_POLICY",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONOPTIMIZE",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_JIT",
    "PYTORCH_NVFUSER_DISABLE",
    "TF_CPP_MIN_LOG_LEVEL",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_XLA_FLAGS",
    "TORCHDYNAMO_DISABLE",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "TORCHINDUCTOR_CPP_WRAPPER",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    "TORCHINDUCTOR_FREEZING",
    "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_COMPILE_DISABLE",
    "TORCH_CUDNN_V8_API_DISABLED",
    "TRITON_CACHE_DIR",
    "TRITON_INTERPRET",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
];
const LONGEST: usize = 200;

/// The variables of the allow-list that are set.
pub fn variables() -> BTreeMap<String, Option<String>> {
    let set = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    chosen(set)
}

fn chosen(set: impl Iterator<Item = (String, String)>) -> BTreeMap<String, Option<String>> {
    set.filter(|(name, _)| NAMES.contains(&name.as_str()))
        .map(|(name, value)| {
            let shown = if value.is_empty() { "(empty)".to_owned() } else { value };
            (name, is_plain(&shown).then_some(shown))
        })
        .collect()
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
    let words_are_plain = !value.split([' ', ',', '=', ';', ':']).any(is_secret);
    words_are_plain
        && value.len() <= LONGEST
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
            ("TORCH_HUB_CREDS", "x"),
            ("JAX_COORDINATOR_ADDRESS", "10.0.0.1:1234"),
            ("TORCHINDUCTOR_THING", "1"),
            ("JAX_PLATFORMS", "ghp_aB3xY7zQ1"),
            ("OMP_PLACES", "ghp9aB3xY7zQ1wE5rT8uI2oP"),
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
                ("JAX_PLATFORMS", None),
                ("OMP_PLACES", None),
                ("XLA_FLAGS", Some(flags)),
            ]
        );
    }
}
