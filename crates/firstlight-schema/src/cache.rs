//! Cache layers, their declared states, and the evidence for these states.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cache that makes a later process faster than the first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Layer {
    /// JAX's persistent compilation cache.
    Jax,
    /// XLA's autotuning results and kernels, stored below JAX's directory.
    XlaAutotune,
    /// Inductor's generated code and its indexes, precompiled headers included.
    Inductor,
    /// Inductor's FX graph cache; counted by PyTorch, kept in Inductor's directory.
    InductorFxGraph,
    /// The `AOTAutograd` cache; counted by PyTorch, kept in Inductor's directory.
    InductorAotAutograd,
    Triton,
    /// The CUDA driver's cache of compiled kernels.
    Cuda,
    Numba,
    /// Python's `.pyc` files.
    Bytecode,
    /// The kernel's cache of file contents.
    PageCache,
}

impl Layer {
    /// The layers that `--cache` governs: everything that compilers store.
    pub const COMPILERS: [Self; 8] = [
        Self::Jax,
        Self::XlaAutotune,
        Self::Inductor,
        Self::InductorFxGraph,
        Self::InductorAotAutograd,
        Self::Triton,
        Self::Cuda,
        Self::Numba,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Jax => "jax",
            Self::XlaAutotune => "xla-autotune",
            Self::Inductor => "inductor",
            Self::InductorFxGraph => "inductor-fx-graph",
            Self::InductorAotAutograd => "inductor-aot-autograd",
            Self::Triton => "triton",
            Self::Cuda => "cuda",
            Self::Numba => "numba",
            Self::Bytecode => "bytecode",
            Self::PageCache => "page-cache",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The state a layer is declared to be in when a measured process starts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Policy {
    /// Present, empty and private to the process.
    Clean,
    /// Filled by one unmeasured process, then the same for each sample.
    Primed,
    /// Switched off, with empty directories besides.
    Disabled,
    /// Unchanged, as found on the user's machine.
    AsFound,
    /// On or off as in the user's environment; a cache that is on starts empty and private.
    AsConfigured,
}

impl Policy {
    pub const ALL: [Self; 5] =
        [Self::Clean, Self::Primed, Self::Disabled, Self::AsFound, Self::AsConfigured];

    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Primed => "primed",
            Self::Disabled => "disabled",
            Self::AsFound => "as-found",
            Self::AsConfigured => "as-configured",
        }
    }
}

impl Policy {
    /// Whether a layer under this policy starts without any entries.
    pub fn starts_empty(self) -> bool {
        match self {
            Self::Clean | Self::Disabled | Self::AsConfigured => true,
            Self::Primed | Self::AsFound => false,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|policy| policy.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("unknown cache policy `{text}`: expected one of {names}")
        })
    }
}

/// The declared policy of every layer during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CachePolicy {
    /// All compiler caches.
    pub compilers: Policy,
    pub bytecode: Policy,
    pub page_cache: Policy,
}

impl CachePolicy {
    pub fn for_layer(self, layer: Layer) -> Policy {
        match layer {
            Layer::Bytecode => self.bytecode,
            Layer::PageCache => self.page_cache,
            Layer::Jax
            | Layer::XlaAutotune
            | Layer::Inductor
            | Layer::InductorFxGraph
            | Layer::InductorAotAutograd
            | Layer::Triton
            | Layer::Cuda
            | Layer::Numba => self.compilers,
        }
    }

    /// Whether an unmeasured process has to fill a cache first.
    pub fn needs_priming(self) -> bool {
        [self.compilers, self.bytecode, self.page_cache].contains(&Policy::Primed)
    }
}

/// Files of one cache directory, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Inventory {
    pub entries: u64,
    pub bytes: u64,
}

/// A layer's directory, counted before the process was started and after it was reaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerReading {
    pub layer: Layer,
    pub policy: Policy,
    /// The directory that the process was given for this cache.
    pub directory: Option<String>,
    pub before: Inventory,
    pub after: Inventory,
}

/// The evidence of a sample about one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerEvidence {
    pub layer: Layer,
    pub policy: Policy,
    /// The directory's content, if firstlight chose the directory.
    pub before: Option<Inventory>,
    pub after: Option<Inventory>,
    /// Requests and hits of this cache, if the framework reports them.
    pub requests: Option<u64>,
    pub hits: Option<u64>,
    /// Whether the framework had this cache switched on, if it reports that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
