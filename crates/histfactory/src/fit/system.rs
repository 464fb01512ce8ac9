//! Solves with the Hessian of a model: local parameters are eliminated in their bins, the rest is
//! factorised densely.
//!
//! A local parameter γ of bin b has a row r against the global parameters and a diagonal h, and
//! eliminating it takes r rᵀ/h from the dense part. Where γ multiplies the whole bin r = κ ∂ν_b, so
//! that v_b becomes v_b − κ²/h and the elimination costs nothing. The expected information of a
//! model with few bins is solved in another way: see `narrow.rs`.

use super::narrow::Narrow;
use crate::kernel::{Aligned, Curvature, Simd, WithSimd, dispatch};
use crate::linalg::{Symmetric, axpy, dot, solve};
use crate::model::layout::Layout;

/// A factorised Hessian.
#[derive(Debug, Clone, Default)]
pub(crate) struct System {
    pub(super) factor: Symmetric,
    left: Aligned,
    right: Aligned,
    pub(super) bins: Vec<Eliminated>,
    /// Rows of the local parameters that are no multiple of a bin's gradient.
    pub(super) rows: Vec<f64>,
    dense: Vec<f64>,
    pub(super) used: Vec<bool>,
    /// In place of all this, where the latest factor is one of the expected information.
    pub(super) narrow: Narrow,
    pub(super) is_narrow: bool,
}

/// What was done in a bin.
#[derive(Debug, Clone, Default)]
pub(super) enum Eliminated {
    #[default]
    Nothing,
    /// One parameter, whose row is a multiple of the bin's gradient.
    One { local: usize, diagonal: f64, multiple: f64 },
    /// Several, or with rows of their own: a small Cholesky factor (lower), rows from `first`.
    Several { locals: Vec<usize>, factor: Vec<f64>, first: usize },
}

impl System {
    pub(crate) fn new(layout: &Layout) -> Self {
        let globals = layout.elimination.global.len();
        Self {
            factor: Symmetric::new(globals),
            bins: vec![Eliminated::Nothing; layout.bins],
            used: vec![false; globals],
            dense: vec![0.0; globals],
            narrow: Narrow::new(layout),
            ..Self::default()
        }
    }

    /// Factorises the part of the Hessian that belongs to the `free` parameters, with
    /// `damping` times its diagonal added; false if that is not positive definite.
    pub(crate) fn factorise(
        &mut self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        damping: f64,
    ) -> bool {
        self.is_narrow = curvature.narrow;
        if self.is_narrow {
            return self.narrow.factorise(layout, curvature, free, damping);
        }
        let stride = curvature.dense.stride;
        self.left.clear();
        self.right.clear();
        self.rows.clear();
        self.factor.values.copy_from_slice(&curvature.dense.values);
        if damping > 0.0 {
            self.damp(curvature, damping);
        }
        for bin in 0..layout.bins {
            let row = &curvature.jacobian[bin * stride..(bin + 1) * stride];
            let mut v = curvature.v[bin];
            if !self.eliminate(layout, curvature, free, damping, bin, &mut v) {
                return false;
            }
            self.left.extend(row.iter().copied());
            self.right.extend(row.iter().map(|value| v * value));
        }
        self.factor.add_products(&self.left, &self.right);
        self.mask(layout, free);
        self.factor.factorise()
    }

    fn damp(&mut self, curvature: &Curvature, damping: f64) {
        let stride = curvature.dense.stride;
        for place in 0..self.factor.n {
            let row = curvature.dense.row(place);
            let beside: f64 = row[place + 1..self.factor.n].iter().map(|value| value.abs()).sum();
            // The factors of a product have a diagonal that vanishes with them, beside a number
            // that does not: multiples of the diagonal alone would never be enough.
            let mut diagonal = row[place].abs().max(1e-6 * beside);
            for (row, v) in curvature.jacobian.chunks_exact(stride.max(1)).zip(&curvature.v) {
                diagonal += v * row[place] * row[place];
            }
            self.factor.row_mut(place)[place] += damping * diagonal.max(1e-10);
        }
    }

    fn eliminate(
        &mut self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        damping: f64,
        bin: usize,
        v: &mut f64,
    ) -> bool {
        let elimination = &layout.elimination;
        let range = elimination.local_of_bin[bin].clone();
        let all = range.len();
        let is_free = |local: &usize| free[elimination.local[*local] as usize];
        let block = curvature.block_of_bin[bin];
        let damped = |diagonal: f64| diagonal + damping * diagonal.abs().max(1e-10);
        let mut locals = range.clone().filter(is_free);
        let (first, second) = (locals.next(), locals.next());
        let Some(local) = first else {
            self.bins[bin] = Eliminated::Nothing;
            return true;
        };
        if let (None, None) = (second, curvature.own_row[local]) {
            let place = local - range.start;
            let slope = curvature.slope[local];
            let diagonal =
                damped(curvature.blocks[block + place * all + place] + *v * slope * slope);
            let multiple = curvature.multiple[local] + *v * slope;
            if !(diagonal > 0.0) {
                return false;
            }
            self.bins[bin] = Eliminated::One { local, diagonal, multiple };
            *v -= multiple * multiple / diagonal;
            return true;
        }
        let locals: Vec<usize> = range.clone().filter(is_free).collect();
        let count = locals.len();
        let mut factor = vec![0.0; count * count];
        for (i, one) in locals.iter().enumerate() {
            for (j, two) in locals.iter().enumerate().take(i + 1) {
                let second =
                    curvature.blocks[block + (one - range.start) * all + two - range.start];
                factor[i * count + j] = second + *v * curvature.slope[*one] * curvature.slope[*two];
            }
            factor[i * count + i] = damped(factor[i * count + i]);
        }
        let raises: &[f64] = if damping > 0.0 { &[0.0, 1e-6, 1e-4, 1e-2, 1.01] } else { &[0.0] };
        if !raised_cholesky(&mut factor, count, raises) {
            return false;
        }
        let stride = curvature.dense.stride;
        let jacobian = &curvature.jacobian[bin * stride..(bin + 1) * stride];
        let first = self.rows.len();
        for local in &locals {
            let multiple = curvature.multiple[*local] + *v * curvature.slope[*local];
            match curvature.own_row[*local] {
                None => self.rows.extend(jacobian.iter().map(|value| multiple * value)),
                Some(own) => {
                    let own = &curvature.rows[own * stride..(own + 1) * stride];
                    let pairs = jacobian.iter().zip(own);
                    self.rows.extend(pairs.map(|(value, own)| own + multiple * value));
                }
            }
        }
        // L⁻¹ times the rows: what the elimination takes is their product with themselves.
        let start = self.left.len();
        self.left.extend(self.rows[first..].iter().copied());
        for i in 0..count {
            for j in 0..i {
                let scale = factor[i * count + j];
                let (before, this) = self.left.split_at_mut(start + i * stride);
                let before = &before[start + j * stride..start + (j + 1) * stride];
                for (value, before) in this[..stride].iter_mut().zip(before) {
                    *value -= scale * before;
                }
            }
            let scale = 1.0 / factor[i * count + i];
            let this = start + i * stride;
            self.left[this..this + stride].iter_mut().for_each(|value| *value *= scale);
        }
        let taken = self.left[start..].iter().map(|value| -value);
        self.right.extend(taken);
        self.bins[bin] = Eliminated::Several { locals, factor, first };
        true
    }

    /// Takes the parameters that are not free, or have no influence, out of the dense part.
    fn mask(&mut self, layout: &Layout, free: &[bool]) {
        let n = self.factor.n;
        for place in 0..n {
            let parameter = layout.elimination.global[place] as usize;
            let diagonal = self.factor.row(place)[place];
            self.used[place] = free[parameter] && diagonal != 0.0;
        }
        for place in 0..n {
            if self.used[place] {
                continue;
            }
            self.factor.row_mut(place).fill(0.0);
            for row in 0..place {
                self.factor.row_mut(row)[place] = 0.0;
            }
            self.factor.row_mut(place)[place] = 1.0;
        }
    }

    /// Solves for the free parameters; the others get zero. `vector` has one value for each
    /// parameter, the right side first and the solution afterwards.
    pub(crate) fn solve(
        &mut self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        vector: &mut [f64],
    ) {
        if self.is_narrow {
            self.narrow.solve(vector);
        } else {
            dispatch(Solve { system: self, layout, curvature, free, vector });
        }
    }
}

struct Solve<'a> {
    system: &'a mut System,
    layout: &'a Layout,
    curvature: &'a Curvature,
    free: &'a [bool],
    vector: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { system, layout, curvature, free, vector } = self;
        let System { factor, bins, rows, dense, used, .. } = system;
        let globals = dense.len();
        let elimination = &layout.elimination;
        let stride = curvature.dense.stride;
        for (value, parameter) in dense.iter_mut().zip(&elimination.global) {
            *value = vector[*parameter as usize];
        }
        for (bin, eliminated) in bins.iter().enumerate() {
            let jacobian = &curvature.jacobian[bin * stride..];
            match eliminated {
                Eliminated::Nothing => {}
                Eliminated::One { local, diagonal, multiple } => {
                    let right = vector[elimination.local[*local] as usize];
                    let scale = multiple * right / diagonal;
                    axpy(simd, dense, -scale, &jacobian[..globals]);
                }
                Eliminated::Several { locals, factor, first } => {
                    let mut right: Vec<f64> = locals
                        .iter()
                        .map(|local| vector[elimination.local[*local] as usize])
                        .collect();
                    small_solve(factor, &mut right);
                    for (row, right) in rows[*first..].chunks_exact(stride.max(1)).zip(right) {
                        axpy(simd, dense, -right, &row[..globals]);
                    }
                }
            }
        }
        for (value, used) in dense.iter_mut().zip(&*used) {
            if !used {
                *value = 0.0;
            }
        }
        solve(simd, factor, dense);
        for (value, is_free) in vector.iter_mut().zip(free) {
            if !is_free {
                *value = 0.0;
            }
        }
        for (value, parameter) in dense.iter().zip(&elimination.global) {
            vector[*parameter as usize] = *value;
        }
        for (bin, eliminated) in bins.iter().enumerate() {
            let jacobian = &curvature.jacobian[bin * stride..];
            match eliminated {
                Eliminated::Nothing => {}
                Eliminated::One { local, diagonal, multiple } => {
                    let value = &mut vector[elimination.local[*local] as usize];
                    *value =
                        (*value - multiple * dot(simd, dense, &jacobian[..globals])) / diagonal;
                }
                Eliminated::Several { locals, factor, first } => {
                    let rows = rows[*first..].chunks_exact(stride.max(1));
                    let mut right: Vec<f64> = locals
                        .iter()
                        .zip(rows)
                        .map(|(local, row)| {
                            vector[elimination.local[*local] as usize]
                                - dot(simd, dense, &row[..globals])
                        })
                        .collect();
                    small_solve(factor, &mut right);
                    for (local, value) in locals.iter().zip(right) {
                        vector[elimination.local[*local] as usize] = value;
                    }
                }
            }
        }
    }
}

/// The Cholesky factor of a small matrix, its diagonal raised if need be by the first part of what
/// stands in its rows that will do. Factors of one product have a singular block, near zero even one
/// like (0 w; w 0), of which multiples of the diagonal would never be enough; and no other parameter
/// has to be damped for it.
fn raised_cholesky(matrix: &mut [f64], n: usize, parts: &[f64]) -> bool {
    let given = matrix.to_vec();
    for part in parts {
        matrix.copy_from_slice(&given);
        for i in 0..n {
            let row: f64 = (0..n).map(|j| given[i.max(j) * n + i.min(j)].abs()).sum();
            matrix[i * n + i] += part * row;
        }
        if small_cholesky(matrix, n) {
            return true;
        }
    }
    false
}

/// Lower Cholesky factor of a small matrix, in place.
pub(super) fn small_cholesky(matrix: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = matrix[i * n + j];
            for k in 0..j {
                sum -= matrix[i * n + k] * matrix[j * n + k];
            }
            if i == j {
                if !(sum > 0.0 && sum.is_finite()) {
                    return false;
                }
                matrix[i * n + i] = sum.sqrt();
            } else {
                matrix[i * n + j] = sum / matrix[j * n + j];
            }
        }
    }
    true
}

pub(super) fn small_solve(factor: &[f64], b: &mut [f64]) {
    let n = b.len();
    for i in 0..n {
        for k in 0..i {
            b[i] -= factor[i * n + k] * b[k];
        }
        b[i] /= factor[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            b[i] -= factor[k * n + i] * b[k];
        }
        b[i] /= factor[i * n + i];
    }
}
