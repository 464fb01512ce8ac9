//! Results as text: numbers with units, verdicts, findings, and the tables of pages.

pub mod answer;
pub mod arrays;
pub(crate) mod diagnosis;
pub mod findings;
pub mod format;
pub mod gate;
pub(crate) mod headline;
pub mod machine;
pub(crate) mod recording;
pub(crate) mod regime;
pub(crate) mod row;
pub(crate) mod slug;
pub(crate) mod sweep;
pub(crate) mod table;
pub mod tables;
pub(crate) mod trace;
pub(crate) mod verdict;
