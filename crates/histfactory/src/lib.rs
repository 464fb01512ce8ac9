//! HistFactory models: workspaces as pyhf writes them, and inference on them.

pub mod synthetic;
pub mod workspace;

pub use workspace::Workspace;
