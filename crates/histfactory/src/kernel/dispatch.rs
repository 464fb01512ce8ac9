//! Runs a kernel compiled for the instruction set of the processor.

pub(crate) use pulp::{Simd, WithSimd};

/// Runs a kernel whose vectors have at most four numbers, the unit to which the layout of a model is padded.
/// `with_simd` and all functions it calls must be `#[inline(always)]`; otherwise they are compiled for the
/// baseline processor.
#[inline]
pub(crate) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    return match pulp::x86::V3::try_new() {
        Some(simd) => Simd::vectorize(simd, kernel),
        None => Simd::vectorize(pulp::Scalar, kernel),
    };
    #[cfg(not(target_arch = "x86_64"))]
    pulp::Arch::new().dispatch(kernel)
}

/// Runs a kernel with the longest vectors of the processor, eight numbers with AVX-512.
#[inline]
pub(crate) fn dispatch_wide<K: WithSimd>(kernel: K) -> K::Output {
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
