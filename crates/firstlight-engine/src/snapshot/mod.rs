//! Snapshots: a run's folder sealed by its manifest, read back with distrust.

mod archive;
mod citation;
mod files;
mod inventory;
mod limits;
mod newer;
mod reader;
mod schemas;
mod shards;
mod signature;
mod sizes;
mod stamp;
mod variables;
mod writer;

pub use archive::pack;
pub use files::Files;
pub use inventory::{check_inventory, check_suite, identify};
pub use limits::{as_records, is_readable, is_small_as_values};
pub use newer::{Understood, newer_values, read_document, understood, understood_suite};
pub(crate) use reader::with_notice;
pub use reader::{
    LARGEST_LIST, check_version, is_newer, raw_lines, read_manifest, read_result, read_suite,
};
pub use schemas::{Shape, check_shape};
pub use shards::{MOST_SHARDS, check_shards, read_shards, slices};
pub use signature::{NO_SIGNATURE, check_signature, sign};
pub use stamp::stamp;
pub use variables::variables;
pub use writer::{
    Assembly, begin, binary_digest, copy, describe, entries, is_sealed, json, read_origin, seal,
    unseal, vouch, write_origin, write_validation,
};
