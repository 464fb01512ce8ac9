//! The inverse of a factorised matrix, and of the eliminated parameters.
//!
//! With UᵀU = H the inverse is VᵀV, V = U⁻ᵀ. Further columns of W = U⁻ᵀ (1, X) give Xᵀ H⁻¹ X and
//! H⁻¹ X with the same product, WᵀW. Both steps use the tiles of the factorisation.

use super::{ROWS, Rows, Symmetric, stride_of, strip};
use crate::kernel::{Aligned, Simd, WithSimd, dispatch_wide};

/// U⁻ᵀ (1, X) of a factor U.
pub(crate) struct Root {
    /// The number of columns of the lower triangle U⁻ᵀ, after which those of X begin.
    pub(crate) triangle: usize,
    pub(crate) stride: usize,
    pub(crate) values: Aligned,
}

impl Root {
    /// From a matrix that was factorised as a whole; `columns` holds X column by column.
    pub(crate) fn new(factor: &Symmetric, columns: &[&[f64]], memory: Aligned) -> Self {
        let triangle = factor.stride;
        let stride = triangle + stride_of(columns.len());
        let mut values = memory;
        values.reset(triangle * stride);
        for (row, values) in values.chunks_exact_mut(stride.max(1)).enumerate() {
            values[row] = 1.0;
            for (value, column) in values[triangle..].iter_mut().zip(columns) {
                *value = column[row];
            }
        }
        let mut root = Self { triangle, stride, values };
        dispatch_wide(Invert { factor, root: &mut root });
        root
    }

    /// Calls `found` with each row of WᵀW, which is valid from the diagonal on.
    pub(crate) fn square(&self, found: impl FnMut(usize, &[f64])) {
        dispatch_wide(Square { root: self, found });
    }
}

struct Square<'a, F> {
    root: &'a Root,
    found: F,
}

impl<F: FnMut(usize, &[f64])> WithSimd for Square<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { root: Root { triangle, stride, values }, mut found } = self;
        let (triangle, stride) = (*triangle, *stride);
        let w = Rows { values, stride };
        let mut panel = Aligned::zeros(ROWS * stride);
        for first in (0..stride).step_by(ROWS) {
            let start = first / S::F64_LANES * S::F64_LANES;
            panel.fill(0.0);
            // Columns of the triangle are zero above the diagonal.
            if first < triangle {
                let skip = |column: usize| column.max(first);
                strip::<S, false>(simd, &mut panel, start..triangle, w, first, w, skip);
                strip::<S, false>(simd, &mut panel, triangle..stride, w, first, w, |_| first);
            } else {
                strip::<S, false>(simd, &mut panel, start..stride, w, first, w, |_| 0);
            }
            for (row, values) in (first..).zip(panel.chunks_exact(stride)) {
                found(row, values);
            }
        }
    }
}

struct Invert<'a> {
    factor: &'a Symmetric,
    root: &'a mut Root,
}

impl WithSimd for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { factor, root: Root { triangle, stride, values } } = self;
        let (triangle, stride) = (*triangle, *stride);
        for first in (0..triangle).step_by(ROWS) {
            let (done, rest) = values.split_at_mut(first * stride);
            let panel = &mut rest[..ROWS * stride];
            let a = Rows { values: &factor.values[..first * triangle], stride: triangle };
            let b = Rows { values: done, stride };
            let end = first.next_multiple_of(S::F64_LANES);
            strip::<S, true>(simd, panel, 0..end, a, first, b, |column| column.min(first));
            strip::<S, true>(simd, panel, triangle..stride, a, first, b, |_| 0);
            let end = (first + ROWS).next_multiple_of(S::F64_LANES);
            for row in 0..ROWS {
                let (above, rest) = panel.split_at_mut(row * stride);
                let pivots = &factor.values[(first + row) * triangle..];
                let scale = 1.0 / pivots[first + row];
                for columns in [0..end, triangle..stride] {
                    let this = &mut rest[columns.clone()];
                    for (index, above) in above.chunks_exact(stride).enumerate() {
                        let scale = -factor.values[(first + index) * triangle + first + row];
                        super::axpy(simd, this, scale, &above[columns.clone()]);
                    }
                    for value in this {
                        *value *= scale;
                    }
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
            let root = Root::new(&matrix, &[], Aligned::default());
            let mut inverse = vec![0.0; root.stride * root.stride];
            root.square(|row, values| {
                inverse[row * root.stride..(row + 1) * root.stride].copy_from_slice(values);
            });
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n)
                        .map(|k| full[i * n + k] * inverse[k.min(j) * root.stride + k.max(j)])
                        .sum();
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((product - expected).abs() < 1e-12, "{n}: {i} {j} {product}");
                }
            }
        }
    }

    #[test]
    fn processors_with_shorter_or_no_vectors_compute_the_same_inverse() {
        for n in [5, 12, 33] {
            let mut matrix = Symmetric::new(n);
            for i in 0..n {
                for j in i..n {
                    let apart = f64::from(u32::try_from(j - i).unwrap());
                    matrix.row_mut(i)[j] = (-0.4 * apart).exp();
                }
            }
            assert!(matrix.factorise());
            let column: Vec<f64> =
                (0..matrix.stride).map(|at| if at < n { 1.5 } else { 0.0 }).collect();
            let wide = Root::new(&matrix, &[&column, &column], Aligned::default());
            let mut narrow = Root { values: Aligned::zeros(wide.values.len()), ..wide };
            for (row, values) in narrow.values.chunks_exact_mut(narrow.stride).enumerate() {
                values[row] = 1.0;
                values[narrow.triangle..narrow.triangle + 2].fill(column[row]);
            }
            Invert { factor: &matrix, root: &mut narrow }.with_simd(pulp::Scalar);
            for (one, two) in wide.values.iter().zip(&*narrow.values) {
                assert!((one - two).abs() < 1e-12, "{n}: {one} {two}");
            }
            let mut rows = Vec::new();
            wide.square(|row, values| rows.push(values[row..].to_vec()));
            let found = |row: usize, values: &[f64]| {
                for (one, two) in rows[row].iter().zip(&values[row..]) {
                    assert!((one - two).abs() < 1e-11, "{n}: {one} {two}");
                }
            };
            Square { root: &narrow, found }.with_simd(pulp::Scalar);
        }
    }
}
