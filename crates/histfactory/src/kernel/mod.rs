//! The inner loops: everything here works on flat arrays and knows no names.

mod dispatch;
pub(crate) mod evaluate;
mod scratch;

pub(crate) use scratch::Scratch;
