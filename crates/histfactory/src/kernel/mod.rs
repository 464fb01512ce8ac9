//! The inner loops, which work on flat arrays without names.

mod aligned;
mod bins;
pub(crate) mod curvature;
mod dispatch;
pub(crate) mod evaluate;
mod factors;
mod quad;
mod scratch;

pub(crate) use aligned::Aligned;
pub(crate) use curvature::{Curvature, Information, Part, is_narrow};
pub(crate) use dispatch::{Simd, WithSimd, dispatch, dispatch_wide, vectors, vectors_mut};
pub(crate) use scratch::Scratch;
