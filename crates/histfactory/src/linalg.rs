//! Dense symmetric matrices: rank updates and Cholesky, in upper row-major storage.
//!
//! One inner loop serves both: C[j][i] += Σ_k A[k][j]·B[k][i] on tiles of four rows by two
//! vectors, with A and B read along their rows. Sizes are padded to whole tiles; padding is zero
//! with a one on the diagonal.

mod inverse;

use std::ops::Range;

pub(crate) use inverse::Root;

use crate::kernel::{Aligned, Simd, WithSimd, dispatch_wide, vectors, vectors_mut};

const ROWS: usize = 4;
const COLUMNS: usize = 8;

/// The distance between rows of a matrix or of vectors that go with it.
pub(crate) const fn stride_of(n: usize) -> usize {
    n.next_multiple_of(COLUMNS)
}

/// A symmetric matrix, of which the upper triangle is used, or its Cholesky factor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Symmetric {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    pub(crate) values: Aligned,
}

impl Symmetric {
    pub(crate) fn new(n: usize) -> Self {
        let stride = stride_of(n);
        Self { n, stride, values: Aligned::zeros(stride * stride) }
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.stride..(row + 1) * self.stride]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.stride..(row + 1) * self.stride]
    }

    /// Adds AᵀB; the rows of A and B are adjacent and have this matrix's stride.
    pub(crate) fn add_products(&mut self, a: &[f64], b: &[f64]) {
        if self.n > 0 {
            dispatch_wide(Products { target: self, a, b });
        }
    }

    /// Replaces the matrix by U with UᵀU = it; false if it is not positive definite.
    pub(crate) fn factorise(&mut self) -> bool {
        self.eliminate(self.n)
    }

    /// Replaces the first `own` rows by those of U, and the rest by the remainder after their elimination;
    /// false if the matrix is not positive definite there.
    pub(crate) fn eliminate(&mut self, own: usize) -> bool {
        for row in self.n..self.stride {
            self.row_mut(row).fill(0.0);
            self.row_mut(row)[row] = 1.0;
        }
        for row in 0..self.n {
            let n = self.n;
            self.row_mut(row)[n..].fill(0.0);
        }
        // If everything is eliminated, the padding is too.
        let own = if own == self.n { self.stride } else { own };
        dispatch_wide(Eliminate { matrix: self, own })
    }

    /// Solves UᵀU x = b in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        dispatch_wide(Solve { factor: self, b });
    }
}

struct Products<'a> {
    target: &'a mut Symmetric,
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = self.target.stride;
        let (a, b) = (self.a, self.b);
        for (panel, rows) in self.target.values.chunks_exact_mut(ROWS * stride).enumerate() {
            tiles::<S, false>(simd, rows, stride, panel * ROWS, a, b);
        }
    }
}

/// All tiles of a panel from the diagonal on.
#[inline(always)]
fn tiles<S: Simd, const NEGATIVE: bool>(
    simd: S,
    rows: &mut [f64],
    stride: usize,
    first: usize,
    a: &[f64],
    b: &[f64],
) {
    let (a, b) = (Rows { values: a, stride }, Rows { values: b, stride });
    let start = first / S::F64_LANES * S::F64_LANES;
    strip::<S, NEGATIVE>(simd, rows, start..stride, a, first, b, |_| 0);
}

/// Adjacent rows of numbers.
#[derive(Clone, Copy)]
struct Rows<'a> {
    values: &'a [f64],
    stride: usize,
}

/// All tiles of a panel in a range of columns, whole vectors. `skip` returns how many rows of A and B have
/// only zeros for a tile that begins with a column.
#[inline(always)]
fn strip<S: Simd, const NEGATIVE: bool>(
    simd: S,
    rows: &mut [f64],
    columns: Range<usize>,
    a: Rows<'_>,
    first: usize,
    b: Rows<'_>,
    skip: impl Fn(usize) -> usize,
) {
    let mut column = columns.start;
    while column < columns.end {
        let skipped = skip(column);
        let a = Rows { values: &a.values[skipped * a.stride..], ..a };
        let b = Rows { values: &b.values[skipped * b.stride..], ..b };
        if column + 2 * S::F64_LANES <= columns.end {
            tile::<S, NEGATIVE, 2>(simd, rows, column, a, first, b);
        } else {
            tile::<S, NEGATIVE, 1>(simd, rows, column, a, first, b);
        }
        column += 2 * S::F64_LANES;
    }
}

/// Adds to a tile of `rows` the products of A's columns from `first` and B's from `column`, or
/// subtracts them if NEGATIVE. `rows` has the stride of B.
#[inline(always)]
fn tile<S: Simd, const NEGATIVE: bool, const VECTORS: usize>(
    simd: S,
    rows: &mut [f64],
    column: usize,
    a: Rows<'_>,
    first: usize,
    b: Rows<'_>,
) {
    let width = VECTORS * S::F64_LANES;
    let mut sums = [[simd.splat_f64s(0.0); VECTORS]; ROWS];
    for (a, b) in a.values.chunks_exact(a.stride).zip(b.values.chunks_exact(b.stride)) {
        let Some(a) = a[first..].first_chunk::<ROWS>() else { return };
        let Some(b) = vectors::<S>(&b[column..column + width]).first_chunk::<VECTORS>() else {
            return;
        };
        for row in 0..ROWS {
            let scale = simd.splat_f64s(a[row]);
            for at in 0..VECTORS {
                sums[row][at] = simd.mul_add_e_f64s(scale, b[at], sums[row][at]);
            }
        }
    }
    for (row, sums) in rows.chunks_exact_mut(b.stride).zip(sums) {
        let values = vectors_mut::<S>(&mut row[column..column + width]);
        for (value, sum) in values.iter_mut().zip(sums) {
            *value = if NEGATIVE { simd.sub_f64s(*value, sum) } else { simd.add_f64s(*value, sum) };
        }
    }
}

struct Eliminate<'a> {
    matrix: &'a mut Symmetric,
    own: usize,
}

impl WithSimd for Eliminate<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let stride = self.matrix.stride;
        for first in (0..stride).step_by(ROWS) {
            let (before, rest) = self.matrix.values.split_at_mut(first * stride);
            let done = &before[..first.min(self.own) * stride];
            let panel = &mut rest[..ROWS * stride];
            tiles::<S, true>(simd, panel, stride, first, done, done);
            let pivots = self.own.saturating_sub(first).min(ROWS);
            if !panel_factor(simd, panel, stride, first, pivots) {
                return false;
            }
        }
        true
    }
}

/// Eliminates the first `pivots` rows of a panel from the others.
#[inline(always)]
fn panel_factor<S: Simd>(
    simd: S,
    panel: &mut [f64],
    stride: usize,
    first: usize,
    pivots: usize,
) -> bool {
    // Whole vectors that begin before the panel's first column: values below the diagonal are meaningless.
    let from = first / S::F64_LANES * S::F64_LANES;
    for row in 0..ROWS {
        let (above, rest) = panel.split_at_mut(row * stride);
        let this = &mut rest[..stride];
        for above in above.chunks_exact(stride).take(pivots) {
            let scale = simd.splat_f64s(-above[first + row]);
            let pairs = vectors_mut::<S>(&mut this[from..]).iter_mut();
            for (value, above) in pairs.zip(vectors::<S>(&above[from..])) {
                *value = simd.mul_add_e_f64s(scale, *above, *value);
            }
        }
        if row >= pivots {
            continue;
        }
        let pivot = this[first + row];
        if !(pivot > 1e-300 && pivot.is_finite()) {
            return false;
        }
        let scale = simd.splat_f64s(1.0 / pivot.sqrt());
        for value in vectors_mut::<S>(&mut this[from..]) {
            *value = simd.mul_f64s(*value, scale);
        }
    }
    true
}

struct Solve<'a> {
    factor: &'a Symmetric,
    b: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        solve(simd, self.factor, self.b);
    }
}

/// Solves UᵀU x = b in place.
#[inline(always)]
pub(crate) fn solve<S: Simd>(simd: S, factor: &Symmetric, b: &mut [f64]) {
    forward(simd, factor, factor.n, b);
    backward(simd, factor, factor.n, b);
}

/// Solves Uᵀx = b for the first `own` rows and subtracts their effect from the rest of b.
#[inline(always)]
pub(crate) fn forward<S: Simd>(simd: S, factor: &Symmetric, own: usize, b: &mut [f64]) {
    let n = factor.n;
    let b = &mut b[..n];
    for row in 0..own {
        let values = &factor.row(row)[..n];
        let x = b[row] / values[row];
        b[row] = x;
        axpy(simd, &mut b[row + 1..], -x, &values[row + 1..]);
    }
}

/// Solves Ux = b for the first `own` rows; the rest of b already holds x.
#[inline(always)]
pub(crate) fn backward<S: Simd>(simd: S, factor: &Symmetric, own: usize, b: &mut [f64]) {
    let n = factor.n;
    let b = &mut b[..n];
    for row in (0..own).rev() {
        let values = &factor.row(row)[..n];
        let sum = dot(simd, &values[row + 1..], &b[row + 1..]);
        b[row] = (b[row] - sum) / values[row];
    }
}

/// Adds a multiple of a slice that is at least as long.
pub(crate) fn add_multiple(target: &mut [f64], scale: f64, values: &[f64]) {
    let values = &values[..target.len()];
    dispatch_wide(AddMultiple { target, scale, values });
}

/// Σ a b over the length of `a`.
pub(crate) fn product(a: &[f64], b: &[f64]) -> f64 {
    dispatch_wide(Product { a, b: &b[..a.len()] })
}

struct AddMultiple<'a> {
    target: &'a mut [f64],
    scale: f64,
    values: &'a [f64],
}

impl WithSimd for AddMultiple<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        axpy(simd, self.target, self.scale, self.values);
    }
}

struct Product<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Product<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        dot(simd, self.a, self.b)
    }
}

/// Adds a multiple of a slice.
#[inline(always)]
pub(crate) fn axpy<S: Simd>(simd: S, target: &mut [f64], scale: f64, values: &[f64]) {
    let (head, tail) = S::as_mut_simd_f64s(target);
    let (of_head, of_tail) = S::as_simd_f64s(values);
    let scales = simd.splat_f64s(scale);
    for (target, value) in head.iter_mut().zip(of_head) {
        *target = simd.mul_add_e_f64s(scales, *value, *target);
    }
    for (target, value) in tail.iter_mut().zip(of_tail) {
        *target += scale * value;
    }
}

#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (S::as_simd_f64s(a), S::as_simd_f64s(b));
    let mut even = simd.splat_f64s(0.0);
    let mut odd = even;
    let (a_pairs, b_pairs) = (a.chunks_exact(2), b.chunks_exact(2));
    let rest = a_pairs.remainder().iter().zip(b_pairs.remainder());
    for (a, b) in rest {
        even = simd.mul_add_e_f64s(*a, *b, even);
    }
    for (a, b) in a_pairs.zip(b_pairs) {
        even = simd.mul_add_e_f64s(a[0], b[0], even);
        odd = simd.mul_add_e_f64s(a[1], b[1], odd);
    }
    let tail: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    simd.reduce_sum_f64s(simd.add_f64s(even, odd)) + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matrix(n: usize, rows: &[f64]) -> (Symmetric, Vec<f64>) {
        let mut matrix = Symmetric::new(n);
        let stride = matrix.stride;
        let mut padded = vec![0.0; rows.len() / n.max(1) * stride];
        for (padded, row) in padded.chunks_exact_mut(stride).zip(rows.chunks_exact(n)) {
            padded[..n].copy_from_slice(row);
        }
        matrix.add_products(&padded, &padded);
        for i in 0..n {
            matrix.row_mut(i)[i] += 1.0;
        }
        let full = (0..n * n)
            .map(|index| (index / n, index % n))
            .map(|(i, j)| {
                let product: f64 = rows.chunks_exact(n).map(|row| row[i] * row[j]).sum();
                product + f64::from(u8::from(i == j))
            })
            .collect();
        (matrix, full)
    }

    proptest! {
        #[test]
        fn a_solution_reproduces_its_right_hand_side(
            n in 1_usize..40,
            numbers in proptest::collection::vec(-2.0..2.0_f64, 40 * 12 + 40),
        ) {
            let (mut matrix, full) = matrix(n, &numbers[..n * 12]);
            for i in 0..n {
                for j in i..n {
                    prop_assert!((matrix.row(i)[j] - full[i * n + j]).abs() < 1e-12);
                }
            }
            prop_assert!(matrix.factorise());
            let b = &numbers[480..480 + n];
            let mut x = b.to_vec();
            matrix.solve(&mut x);
            for (row, b) in full.chunks_exact(n).zip(b) {
                let product: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                prop_assert!((product - b).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let mut matrix = Symmetric::new(2);
        matrix.row_mut(0)[..2].copy_from_slice(&[1.0, 2.0]);
        matrix.row_mut(1)[1] = 1.0;
        assert!(!matrix.factorise());
    }
}
