//! Caches in their declared state: private directories, settings, and inventories as evidence.

mod inventory;
mod page_cache;
mod scratch;
mod settings;

pub use page_cache::PageCache;
pub use scratch::Scratch;
