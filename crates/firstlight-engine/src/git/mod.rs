//! A git repository and checkouts of its commits. Nothing here changes a branch, the index or the files that
//! the user works on.

mod checkout;
mod repository;

pub use checkout::Checkouts;
pub use repository::{Commit, Repository};
