//! Dense symmetric matrices: rank updates and Cholesky, in upper row-major storage.
//!
//! One inner loop serves both: C[j][i] += Σ_k A[k][j]·B[k][i] on tiles of four rows by eight
//! columns, with A and B read along their rows. Sizes are padded to whole tiles; padding is zero
//! with a one on the diagonal.

use crate::kernel::{Kernel, dispatch, fma};

const ROWS: usize = 4;
const COLUMNS: usize = 8;

/// The distance between rows of a matrix or of vectors that go with it.
pub(crate) const fn stride_of(n: usize) -> usize {
    n.next_multiple_of(COLUMNS)
}

/// A symmetric matrix of which the upper triangle counts, or its Cholesky factor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Symmetric {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    pub(crate) values: Vec<f64>,
}

impl Symmetric {
    pub(crate) fn new(n: usize) -> Self {
        let stride = stride_of(n);
        Self { n, stride, values: vec![0.0; stride * stride] }
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.stride..(row + 1) * self.stride]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.stride..(row + 1) * self.stride]
    }

    /// Adds AᵀB, whose rows are adjacent, of this matrix's stride.
    pub(crate) fn add_products(&mut self, a: &[f64], b: &[f64]) {
        if self.n > 0 {
            dispatch(Products { target: self, a, b });
        }
    }

    /// Replaces the matrix by U with UᵀU = it; false if it is not positive definite.
    pub(crate) fn factorise(&mut self) -> bool {
        for row in self.n..self.stride {
            self.row_mut(row).fill(0.0);
            self.row_mut(row)[row] = 1.0;
        }
        for row in 0..self.n {
            let n = self.n;
            self.row_mut(row)[n..].fill(0.0);
        }
        dispatch(Factorise { matrix: self })
    }

    /// Solves UᵀU x = b in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        dispatch(Solve { factor: self, b });
    }
}

struct Products<'a> {
    target: &'a mut Symmetric,
    a: &'a [f64],
    b: &'a [f64],
}

impl Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let stride = self.target.stride;
        let (a, b) = (self.a, self.b);
        for (panel, rows) in self.target.values.chunks_exact_mut(ROWS * stride).enumerate() {
            let first = panel * ROWS;
            let mut column = first / COLUMNS * COLUMNS;
            while column < stride {
                tile::<FMA, false>(rows, stride, column, a, first, b);
                column += COLUMNS;
            }
        }
    }
}

/// Adds to, or with NEGATIVE takes from, a tile of `rows` the products of A's columns from `first`
/// and B's from `column`.
#[inline(always)]
fn tile<const FMA: bool, const NEGATIVE: bool>(
    rows: &mut [f64],
    stride: usize,
    column: usize,
    a: &[f64],
    first: usize,
    b: &[f64],
) {
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for (a, b) in a.chunks_exact(stride).zip(b.chunks_exact(stride)) {
        let Some(a) = a[first..].first_chunk::<ROWS>() else { return };
        let Some(b) = b[column..].first_chunk::<COLUMNS>() else { return };
        for row in 0..ROWS {
            for lane in 0..COLUMNS {
                sums[row][lane] = fma::<FMA>(a[row], b[lane], sums[row][lane]);
            }
        }
    }
    for (row, sums) in rows.chunks_exact_mut(stride).zip(sums) {
        for (value, sum) in row[column..column + COLUMNS].iter_mut().zip(sums) {
            *value += if NEGATIVE { -sum } else { sum };
        }
    }
}

struct Factorise<'a> {
    matrix: &'a mut Symmetric,
}

impl Kernel for Factorise<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let stride = self.matrix.stride;
        for first in (0..stride).step_by(ROWS) {
            let (done, rest) = self.matrix.values.split_at_mut(first * stride);
            let panel = &mut rest[..ROWS * stride];
            let mut column = first / COLUMNS * COLUMNS;
            while column < stride {
                tile::<FMA, true>(panel, stride, column, done, first, done);
                column += COLUMNS;
            }
            if !panel_factor::<FMA>(panel, stride, first) {
                return false;
            }
        }
        true
    }
}

/// Factorises the rows of a panel among themselves.
#[inline(always)]
fn panel_factor<const FMA: bool>(panel: &mut [f64], stride: usize, first: usize) -> bool {
    for row in 0..ROWS {
        let (above, rest) = panel.split_at_mut(row * stride);
        let this = &mut rest[..stride];
        for above in above.chunks_exact(stride) {
            let scale = -above[first + row];
            for (value, above) in this[first..].iter_mut().zip(&above[first..]) {
                *value = fma::<FMA>(scale, *above, *value);
            }
        }
        let pivot = this[first + row];
        if !(pivot > 1e-300 && pivot.is_finite()) {
            return false;
        }
        let scale = 1.0 / pivot.sqrt();
        for value in &mut this[first..] {
            *value *= scale;
        }
    }
    true
}

#[inline(always)]
fn lower<const FMA: bool>(factor: &Symmetric, b: &mut [f64]) {
    let n = factor.n;
    for row in 0..n {
        let values = &factor.row(row)[..n];
        let x = b[row] / values[row];
        b[row] = x;
        for (b, value) in b[row + 1..n].iter_mut().zip(&values[row + 1..]) {
            *b = fma::<FMA>(-x, *value, *b);
        }
    }
}

struct Solve<'a> {
    factor: &'a Symmetric,
    b: &'a mut [f64],
}

impl Kernel for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        lower::<FMA>(self.factor, self.b);
        let n = self.factor.n;
        for row in (0..n).rev() {
            let values = &self.factor.row(row)[..n];
            let dot = dot::<FMA>(&values[row + 1..], &self.b[row + 1..n]);
            self.b[row] = (self.b[row] - dot) / values[row];
        }
    }
}

#[inline(always)]
pub(crate) fn dot<const FMA: bool>(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<COLUMNS>(), b.as_chunks::<COLUMNS>());
    let mut sums = [0.0; COLUMNS];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..COLUMNS {
            sums[lane] = fma::<FMA>(a[lane], b[lane], sums[lane]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest
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
        fn a_solution_gives_back_its_right_side(
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
