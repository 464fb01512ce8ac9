//! Solves with the Hessian of a model: local parameters are eliminated in their bins, the rest is
//! factorised densely.
//!
//! A local parameter γ of bin b has a row r against the global parameters and a diagonal h, and
//! eliminating it takes r rᵀ/h from the dense part. Where γ multiplies the whole bin r = κ ∂ν_b, so
//! that v_b becomes v_b − κ²/h and the elimination costs nothing.

use crate::kernel::{Aligned, Curvature};
use crate::linalg::Symmetric;
use crate::model::layout::Layout;

/// A factorised Hessian.
#[derive(Debug, Clone, Default)]
pub(crate) struct System {
    factor: Symmetric,
    left: Aligned,
    right: Aligned,
    bins: Vec<Eliminated>,
    /// Rows of the local parameters that are no multiple of a bin's gradient.
    rows: Vec<f64>,
    dense: Vec<f64>,
    used: Vec<bool>,
}

/// What was done in a bin.
#[derive(Debug, Clone, Default)]
enum Eliminated {
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
            let mut diagonal = curvature.dense.row(place)[place].abs();
            for (row, v) in curvature.jacobian.chunks_exact(stride).zip(&curvature.v) {
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
        if !small_cholesky(&mut factor, count) {
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
        let elimination = &layout.elimination;
        let stride = curvature.dense.stride;
        for (value, parameter) in self.dense.iter_mut().zip(&elimination.global) {
            *value = vector[*parameter as usize];
        }
        for (bin, eliminated) in self.bins.iter().enumerate() {
            let jacobian = &curvature.jacobian[bin * stride..];
            match eliminated {
                Eliminated::Nothing => {}
                Eliminated::One { local, diagonal, multiple } => {
                    let right = vector[elimination.local[*local] as usize];
                    let scale = multiple * right / diagonal;
                    axpy(&mut self.dense, -scale, jacobian);
                }
                Eliminated::Several { locals, factor, first } => {
                    let mut right: Vec<f64> = locals
                        .iter()
                        .map(|local| vector[elimination.local[*local] as usize])
                        .collect();
                    small_solve(factor, &mut right);
                    for (row, right) in self.rows[*first..].chunks_exact(stride).zip(right) {
                        axpy(&mut self.dense, -right, row);
                    }
                }
            }
        }
        for (value, used) in self.dense.iter_mut().zip(&self.used) {
            if !used {
                *value = 0.0;
            }
        }
        self.factor.solve(&mut self.dense);
        for (value, is_free) in vector.iter_mut().zip(free) {
            if !is_free {
                *value = 0.0;
            }
        }
        for (value, parameter) in self.dense.iter().zip(&elimination.global) {
            vector[*parameter as usize] = *value;
        }
        for (bin, eliminated) in self.bins.iter().enumerate() {
            let jacobian = &curvature.jacobian[bin * stride..];
            match eliminated {
                Eliminated::Nothing => {}
                Eliminated::One { local, diagonal, multiple } => {
                    let value = &mut vector[elimination.local[*local] as usize];
                    *value = (*value - multiple * dot(&self.dense, jacobian)) / diagonal;
                }
                Eliminated::Several { locals, factor, first } => {
                    let rows = self.rows[*first..].chunks_exact(stride);
                    let mut right: Vec<f64> = locals
                        .iter()
                        .zip(rows)
                        .map(|(local, row)| {
                            vector[elimination.local[*local] as usize] - dot(&self.dense, row)
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

fn axpy(target: &mut [f64], scale: f64, row: &[f64]) {
    for (target, value) in target.iter_mut().zip(row) {
        *target += scale * value;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Lower Cholesky factor of a small matrix, in place.
fn small_cholesky(matrix: &mut [f64], n: usize) -> bool {
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

fn small_solve(factor: &[f64], b: &mut [f64]) {
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
