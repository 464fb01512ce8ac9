//! Solves with the Hessian of a model: local parameters are eliminated in their bins, the rest in the model's
//! fronts.
//!
//! A front is a dense matrix of the parameters that it eliminates and of those they are coupled to. The
//! remainder after the elimination is added to the parent's front. A model with a single front is factorised
//! densely.
//!
//! A local parameter γ of bin b has a row r against the global parameters and a diagonal h, and
//! eliminating it takes r rᵀ/h from the dense part. Where γ multiplies the whole bin r = κ ∂ν_b, so
//! that v_b becomes v_b − κ²/h and the elimination costs nothing. The expected information of a
//! model with few bins is solved in another way: see `narrow.rs`.

use super::narrow::Narrow;
use crate::kernel::{Aligned, Curvature, Simd, WithSimd, dispatch_wide};
use crate::linalg::{Symmetric, axpy, backward, dot, forward};
use crate::model::layout::{Front, Layout};

/// A factorised Hessian.
#[derive(Debug, Clone, Default)]
pub(crate) struct System {
    /// Of each front.
    pub(super) factors: Vec<Symmetric>,
    /// The rows that a front's bins multiply, and the factors.
    left: Aligned,
    right: Aligned,
    pub(super) bins: Vec<Eliminated>,
    /// Rows of the local parameters that are not a multiple of a bin's gradient.
    pub(super) rows: Vec<f64>,
    /// Numbers of all global parameters, and of those of a front.
    dense: Vec<f64>,
    of_front: Vec<f64>,
    diagonal: Vec<f64>,
    pub(super) used: Vec<bool>,
    /// Replaces all this if the latest factor is one of the expected information.
    pub(super) narrow: Narrow,
    pub(super) is_narrow: bool,
}

/// The elimination in a bin.
#[derive(Debug, Clone, Default)]
pub(super) enum Eliminated {
    #[default]
    Nothing,
    /// One parameter, whose row is a multiple of the bin's gradient.
    One { local: usize, diagonal: f64, multiple: f64 },
    /// Several parameters, or some with separate rows: a small Cholesky factor (lower), rows from `first`.
    Several { locals: Vec<usize>, factor: Vec<f64>, first: usize },
}

impl System {
    pub(crate) fn new(layout: &Layout) -> Self {
        let globals = layout.elimination.global.len();
        let fronts = &layout.elimination.fronts;
        Self {
            factors: fronts.iter().map(|front| Symmetric::new(front.len())).collect(),
            of_front: vec![0.0; fronts.iter().map(Front::len).max().unwrap_or(0)],
            diagonal: vec![0.0; globals],
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
        self.rows.clear();
        self.diagonal.copy_from_slice(&curvature.constraint);
        let fronts = &layout.elimination.fronts;
        for (index, front) in fronts.iter().enumerate() {
            if !self.assemble(layout, curvature, free, damping, index) {
                return false;
            }
            for (at, &place) in front.places.iter().enumerate() {
                self.diagonal[place as usize] += self.factors[index].row(at)[at];
            }
        }
        if damping > 0.0 {
            self.damp(layout, curvature, damping);
        }
        for (place, used) in self.used.iter_mut().enumerate() {
            *used = free[layout.elimination.global[place] as usize] && self.diagonal[place] != 0.0;
        }
        for (index, front) in fronts.iter().enumerate() {
            let (factor, later) = self.factors[index..].split_first_mut().expect("it has one each");
            let own = front.first()..front.first() + front.own;
            for (at, constraint) in curvature.constraint[own.clone()].iter().enumerate() {
                factor.row_mut(at)[at] += constraint;
            }
            mask(factor, &self.used[own]);
            if !factor.eliminate(front.own) {
                return false;
            }
            if let Some(parent) = front.parent {
                add_rest(factor, front, &mut later[parent - index - 1]);
            }
        }
        true
    }

    /// Adds the terms of a front's bins, with their local parameters eliminated.
    fn assemble(
        &mut self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        damping: f64,
        index: usize,
    ) -> bool {
        let (front, part) = (&layout.elimination.fronts[index], &curvature.parts[index]);
        if front.bins.is_empty() {
            self.factors[index].values.fill(0.0);
            return true;
        }
        self.left.clear();
        self.right.clear();
        self.factors[index].values.copy_from_slice(&part.dense.values);
        for (row, &bin) in front.bins.iter().enumerate() {
            let bin = bin as usize;
            let mut v = curvature.v[bin];
            if !self.eliminate(layout, curvature, free, damping, bin, &mut v) {
                return false;
            }
            self.left.extend(part.row(row).iter().copied());
            self.right.extend(part.row(row).iter().map(|value| v * value));
        }
        self.factors[index].add_products(&self.left, &self.right);
        true
    }

    fn damp(&mut self, layout: &Layout, curvature: &Curvature, damping: f64) {
        let globals = self.dense.len();
        let mut diagonal = curvature.constraint.clone();
        let mut beside = vec![0.0; globals];
        let mut squares = vec![0.0; globals];
        for (part, front) in curvature.parts.iter().zip(&layout.elimination.fronts) {
            if front.bins.is_empty() {
                continue;
            }
            for (at, &place) in front.places.iter().enumerate() {
                let row = &part.dense.row(at)[..front.len()];
                diagonal[place as usize] += row[at];
                for (&other, value) in front.places.iter().zip(row).skip(at + 1) {
                    beside[place as usize] += value.abs();
                    beside[other as usize] += value.abs();
                }
            }
            for (row, &bin) in front.bins.iter().enumerate() {
                let v = curvature.v[bin as usize];
                for (&place, value) in front.places.iter().zip(part.row(row)) {
                    squares[place as usize] += v * value * value;
                }
            }
        }
        for (factor, front) in self.factors.iter_mut().zip(&layout.elimination.fronts) {
            for at in 0..front.own {
                let place = front.first() + at;
                // The diagonal of a product's factors vanishes with them while an off-diagonal number does
                // not: multiples of the diagonal alone would never be enough.
                let size = diagonal[place].abs().max(1e-6 * beside[place]) + squares[place];
                let raise = damping * size.max(1e-10);
                factor.row_mut(at)[at] += raise;
                self.diagonal[place] += raise;
            }
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
        let part = &curvature.parts[elimination.front_of_bin[bin] as usize];
        let stride = part.dense.stride;
        let jacobian = part.row(elimination.row_of_bin[bin] as usize);
        let first = self.rows.len();
        for local in &locals {
            let multiple = curvature.multiple[*local] + *v * curvature.slope[*local];
            match curvature.own_row[*local] {
                None => self.rows.extend(jacobian.iter().map(|value| multiple * value)),
                Some(own) => {
                    let pairs = jacobian.iter().zip(part.own_row(own));
                    self.rows.extend(pairs.map(|(value, own)| own + multiple * value));
                }
            }
        }
        // L⁻¹ times the rows; the elimination subtracts their product with themselves.
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

    /// Solves for the free parameters; the others get zero. `vector` has one value for each parameter: the
    /// right-hand side before, the solution afterwards.
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
            dispatch_wide(Solve { system: self, layout, curvature, free, vector });
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
        let System { factors, bins, rows, dense, of_front, used, .. } = system;
        let elimination = &layout.elimination;
        for (value, parameter) in dense.iter_mut().zip(&elimination.global) {
            *value = vector[*parameter as usize];
        }
        let fronts = elimination.fronts.iter().zip(&curvature.parts).zip(&*factors);
        for ((front, part), factor) in fronts.clone() {
            let right = &mut of_front[..front.len()];
            gather(right, dense, front);
            for (row, &bin) in front.bins.iter().enumerate() {
                match &bins[bin as usize] {
                    Eliminated::Nothing => {}
                    Eliminated::One { local, diagonal, multiple } => {
                        let of_local = vector[elimination.local[*local] as usize];
                        let scale = multiple * of_local / diagonal;
                        axpy(simd, right, -scale, &part.row(row)[..front.len()]);
                    }
                    Eliminated::Several { locals, factor, first } => {
                        let mut of_locals: Vec<f64> = locals
                            .iter()
                            .map(|local| vector[elimination.local[*local] as usize])
                            .collect();
                        small_solve(factor, &mut of_locals);
                        let rows = rows[*first..].chunks_exact(part.dense.stride.max(1));
                        for (row, of_local) in rows.zip(of_locals) {
                            axpy(simd, right, -of_local, &row[..front.len()]);
                        }
                    }
                }
            }
            for (value, used) in right.iter_mut().zip(&used[front.first()..][..front.own]) {
                *value = if *used { *value } else { 0.0 };
            }
            forward(simd, factor, front.own, right);
            for (value, &place) in right.iter().zip(&front.places) {
                dense[place as usize] = *value;
            }
        }
        for (value, is_free) in vector.iter_mut().zip(free) {
            if !is_free {
                *value = 0.0;
            }
        }
        for ((front, part), factor) in fronts.rev() {
            let solution = &mut of_front[..front.len()];
            gather(solution, dense, front);
            backward(simd, factor, front.own, solution);
            for at in 0..front.own {
                dense[front.first() + at] = solution[at];
                vector[front.parameters[at] as usize] = solution[at];
            }
            for (row, &bin) in front.bins.iter().enumerate() {
                match &bins[bin as usize] {
                    Eliminated::Nothing => {}
                    Eliminated::One { local, diagonal, multiple } => {
                        let value = &mut vector[elimination.local[*local] as usize];
                        let known = dot(simd, solution, &part.row(row)[..front.len()]);
                        *value = (*value - multiple * known) / diagonal;
                    }
                    Eliminated::Several { locals, factor, first } => {
                        let rows = rows[*first..].chunks_exact(part.dense.stride.max(1));
                        let mut right: Vec<f64> = locals
                            .iter()
                            .zip(rows)
                            .map(|(local, row)| {
                                vector[elimination.local[*local] as usize]
                                    - dot(simd, solution, &row[..front.len()])
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
}

#[inline(always)]
fn gather(of_front: &mut [f64], dense: &[f64], front: &Front) {
    for (value, &place) in of_front.iter_mut().zip(&front.places) {
        *value = dense[place as usize];
    }
}

/// Removes unused parameters from a front that eliminates them.
fn mask(factor: &mut Symmetric, used: &[bool]) {
    for (at, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
        factor.row_mut(at).fill(0.0);
        for row in 0..at {
            factor.row_mut(row)[at] = 0.0;
        }
        factor.row_mut(at)[at] = 1.0;
    }
}

/// Adds the remainder of a front to its parent.
fn add_rest(factor: &Symmetric, front: &Front, parent: &mut Symmetric) {
    let rest = front.own..front.len();
    for (at, &place) in rest.clone().zip(&front.in_parent) {
        let row = parent.row_mut(place as usize);
        let values = &factor.row(at)[at..rest.end];
        for (value, &column) in values.iter().zip(&front.in_parent[at - front.own..]) {
            row[column as usize] += value;
        }
    }
}

/// The Cholesky factor of a small matrix. If necessary its diagonal is raised by the smallest sufficient
/// fraction of the largest number in its rows. Factors of one product have a singular block, near zero even
/// one like (0 w; w 0), for which multiples of the diagonal would never be enough. No other parameter has to
/// be damped for it.
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
