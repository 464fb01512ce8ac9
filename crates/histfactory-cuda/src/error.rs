//! The reasons for which a model or a batch is left to the CPU.

/// A model that the kernels cannot evaluate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    #[error("the interpolation of {modifier} has kinks or jumps, which only the CPU follows")]
    Interpolation { modifier: &'static str },
    #[error("the model has {count} {what}; the GPU fits models with at most {most}")]
    Size { what: &'static str, count: usize, most: usize },
    #[error("{what} cannot be computed on the GPU")]
    Quantity { what: &'static str },
}

/// The reason for a missing result of a GPU.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    #[error("no CUDA driver was found")]
    NoDriver,
    #[error("the CUDA driver is too old: version {found}, at least {least} is needed")]
    OldDriver { found: String, least: &'static str },
    #[error("no kernel fits the GPU's architecture sm_{architecture}")]
    Architecture { architecture: u32 },
    #[error("the GPU has no {bytes} bytes left for {rows} rows")]
    Memory { bytes: usize, rows: usize },
    #[error("CUDA was used before this process was forked; start a new process instead")]
    Forked,
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    #[error(transparent)]
    Inference(#[from] histfactory::inference::InferenceError),
    #[error("the CUDA driver reported {code}: {what}")]
    Driver { code: String, what: String },
}
