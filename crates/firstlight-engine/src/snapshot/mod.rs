//! Snapshots: a run's folder sealed by its manifest, read back with distrust.

mod archive;
mod citation;
mod files;
mod inventory;
mod reader;
mod schemas;
mod signature;
mod stamp;
mod variables;
mod writer;

pub use archive::pack;
pub use files::Files;
pub use inventory::{check_inventory, check_suite, identify};
pub use reader::{check_version, raw_lines, read_manifest, read_result, read_suite};
pub use schemas::{Shape, check_shape};
pub use signature::{check_signature, sign};
pub use stamp::stamp;
pub use variables::variables;
pub use writer::{
    begin, binary_digest, copy, describe, is_sealed, json, read_origin, seal, unseal, vouch,
    write_origin, write_validation,
};
