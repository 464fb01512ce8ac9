//! Four numbers, in as many vectors as the processor needs.
//!
//! Not used in closures: functions called from a closure are compiled for the baseline processor.

use super::dispatch::{Simd, vectors, vectors_mut};
use crate::model::layout::LANES;

/// Only as many vectors are used as four numbers need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quad<S: Simd>([S::f64s; LANES]);

impl<S: Simd> Quad<S> {
    const VECTORS: usize = LANES / S::F64_LANES;

    #[inline(always)]
    pub(super) fn splat(simd: S, value: f64) -> Self {
        Self([simd.splat_f64s(value); LANES])
    }

    #[inline(always)]
    pub(super) fn load(simd: S, values: &[f64; LANES]) -> Self {
        let mut quad = Self::splat(simd, 0.0);
        quad.0[..Self::VECTORS].copy_from_slice(vectors::<S>(values));
        quad
    }

    #[inline(always)]
    pub(super) fn store(self, values: &mut [f64; LANES]) {
        vectors_mut::<S>(values).copy_from_slice(&self.0[..Self::VECTORS]);
    }

    #[inline(always)]
    pub(super) fn add(mut self, simd: S, other: Self) -> Self {
        for at in 0..Self::VECTORS {
            self.0[at] = simd.add_f64s(self.0[at], other.0[at]);
        }
        self
    }

    #[inline(always)]
    pub(super) fn mul(mut self, simd: S, other: Self) -> Self {
        for at in 0..Self::VECTORS {
            self.0[at] = simd.mul_f64s(self.0[at], other.0[at]);
        }
        self
    }

    /// This times the first plus the second.
    #[inline(always)]
    pub(super) fn mul_add(mut self, simd: S, first: Self, second: Self) -> Self {
        for at in 0..Self::VECTORS {
            self.0[at] = simd.mul_add_e_f64s(self.0[at], first.0[at], second.0[at]);
        }
        self
    }

    /// The sum of the two halves, in both halves.
    #[inline(always)]
    pub(super) fn fold(self, simd: S) -> Self {
        let mut values = [0.0; LANES];
        self.store(&mut values);
        let [a, b, c, d] = values;
        Self::load(simd, &[a + c, b + d, a + c, b + d])
    }

    #[inline(always)]
    pub(super) fn sum(self, simd: S) -> f64 {
        let mut sum = self.0[0];
        for at in 1..Self::VECTORS {
            sum = simd.add_f64s(sum, self.0[at]);
        }
        simd.reduce_sum_f64s(sum)
    }
}

/// Splits a slice into quads.
#[inline(always)]
pub(super) fn quads(values: &[f64]) -> &[[f64; LANES]] {
    values.as_chunks().0
}

#[inline(always)]
pub(super) fn quads_mut(values: &mut [f64]) -> &mut [[f64; LANES]] {
    values.as_chunks_mut().0
}
