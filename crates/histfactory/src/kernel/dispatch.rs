//! Runs a kernel compiled for what the processor has.

pub(crate) use pulp::{Simd, WithSimd};

/// Runs a kernel. `with_simd` and all it calls must be `#[inline(always)]`, or they are compiled
/// for the least processor.
#[inline]
pub(crate) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    pulp::Arch::new().dispatch(kernel)
}

/// A slice of whole vectors as vectors.
#[inline(always)]
pub(crate) fn vectors<S: Simd>(values: &[f64]) -> &[S::f64s] {
    S::as_simd_f64s(values).0
}

#[inline(always)]
pub(crate) fn vectors_mut<S: Simd>(values: &mut [f64]) -> &mut [S::f64s] {
    S::as_mut_simd_f64s(values).0
}
