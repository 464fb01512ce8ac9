//! The inverse of a matrix that has been factorised.
//!
//! With UᵀU = H the inverse is VᵀV, V = U⁻ᵀ. Both V and the product are made of the tiles that the
//! factorisation is made of.

use super::{ROWS, Symmetric, tile, tiles};
use crate::kernel::{Aligned, Simd, WithSimd, dispatch};

impl Symmetric {
    /// U⁻ᵀ, a lower triangle, of a matrix that was factorised as a whole; rows of the same stride.
    pub(crate) fn inverse_factor(&self) -> Aligned {
        let mut inverse = Aligned::zeros(self.stride * self.stride);
        if self.n > 0 {
            dispatch(Invert { factor: self, inverse: &mut inverse });
        }
        inverse
    }

    /// VᵀV of a lower triangle, with both of its triangles.
    pub(crate) fn squared(n: usize, v: &[f64]) -> Self {
        let mut whole = Self::new(n);
        if n > 0 {
            dispatch(Square { target: &mut whole, v });
        }
        let stride = whole.stride;
        for row in 1..n {
            let (above, this) = whole.values.split_at_mut(row * stride);
            let column = above.iter().skip(row).step_by(stride);
            this.iter_mut().zip(column).for_each(|(value, above)| *value = *above);
        }
        whole
    }
}

struct Square<'a> {
    target: &'a mut Symmetric,
    v: &'a [f64],
}

impl WithSimd for Square<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = self.target.stride;
        for (panel, rows) in self.target.values.chunks_exact_mut(ROWS * stride).enumerate() {
            // Rows of V above the panel have nothing in its columns.
            let v = &self.v[panel * ROWS * stride..];
            tiles::<S, false>(simd, rows, stride, panel * ROWS, v, v);
        }
    }
}

struct Invert<'a> {
    factor: &'a Symmetric,
    inverse: &'a mut Aligned,
}

impl WithSimd for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { factor, inverse } = self;
        let stride = factor.stride;
        let width = 2 * S::F64_LANES;
        for first in (0..stride).step_by(ROWS) {
            let (done, rest) = inverse.split_at_mut(first * stride);
            let panel = &mut rest[..ROWS * stride];
            for row in 0..ROWS {
                panel[row * stride + first + row] = 1.0;
            }
            let above = &factor.values[..first * stride];
            let mut column = 0;
            while column < first {
                tile::<S, true>(simd, panel, stride, column, above, first, done);
                column += width;
            }
            let end = (first + ROWS).next_multiple_of(width).min(stride);
            for row in 0..ROWS {
                let (above, rest) = panel.split_at_mut(row * stride);
                let this = &mut rest[..end];
                for (index, above) in above.chunks_exact(stride).enumerate() {
                    let scale = -factor.values[(first + index) * stride + first + row];
                    super::axpy(simd, this, scale, &above[..end]);
                }
                let scale = 1.0 / factor.values[(first + row) * stride + first + row];
                for value in this {
                    *value *= scale;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        for n in [1, 3, 4, 7, 8, 9, 16, 21, 40] {
            let mut matrix = Symmetric::new(n);
            let mut full = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    let apart = f64::from(u32::try_from(i.abs_diff(j)).unwrap());
                    full[i * n + j] = (-0.3 * apart).exp() + if i == j { 0.5 } else { 0.0 };
                    matrix.row_mut(i)[j] = full[i * n + j];
                }
            }
            assert!(matrix.factorise());
            let inverse = Symmetric::squared(n, &matrix.inverse_factor());
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n).map(|k| full[i * n + k] * inverse.row(k)[j]).sum();
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((product - expected).abs() < 1e-12, "{n}: {i} {j} {product}");
                }
            }
        }
    }
}
