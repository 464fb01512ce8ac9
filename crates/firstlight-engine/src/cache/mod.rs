//! Caches in their declared state: private directories, settings, and inventories as evidence.

mod inventory;
mod page_cache;
mod private;
mod scratch;
mod settings;

pub use page_cache::PageCache;
pub use private::PrivateFolder;
pub(crate) use private::remove_stale_scratch;
pub use scratch::Scratch;
