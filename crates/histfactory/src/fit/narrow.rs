//! Solves with the expected information for models with fewer bins than parameters.
//!
//! The expected information is D + JᵀVJ with a diagonal D, the constraints. With X = V^½ J and
//! S = 1 + X D⁻¹ Xᵀ, as large as there are bins, (D + XᵀX) p = r is solved by Woodbury's identity:
//! S y = X D⁻¹ r and p = D⁻¹ (r − Xᵀy). Parameters u with little or no constraint are a border,
//! (X_uᵀ S⁻¹ X_u + D_u) p_u = r_u − X_uᵀ S⁻¹ X D⁻¹ r and S y = X D⁻¹ r + X_u p_u. A parameter of
//! one bin only adds to the diagonal of S.

use super::system::{small_cholesky, small_solve};
use crate::kernel::{Aligned, Curvature, Simd, WithSimd, dispatch_wide};
use crate::linalg::{Symmetric, axpy, dot, product, solve};
use crate::model::layout::Layout;

/// A parameter belongs to the border if its constraint is below this fraction of the data's information: D⁻¹
/// would lose as many digits.
const WEAK: f64 = 1e-6;

#[derive(Debug, Clone, Default)]
pub(super) struct Narrow {
    /// The position of each bin in a row of the transposed Jacobian.
    place_of_bin: Vec<usize>,
    /// V^½.
    roots: Vec<f64>,
    /// S, then its factor.
    pub(super) factor: Symmetric,
    /// Xᵀ and D⁻¹Xᵀ, rows of the factor's stride, and the parameters they belong to with D⁻¹.
    pub(super) left: Aligned,
    pub(super) right: Aligned,
    pub(super) wide: Vec<(usize, f64)>,
    pub(super) locals: Vec<Local>,
    pub(super) border: Vec<usize>,
    /// X_uᵀ and (S⁻¹X_u)ᵀ.
    pub(super) columns: Vec<f64>,
    pub(super) solved: Vec<f64>,
    /// The factor of X_uᵀ S⁻¹ X_u + D_u.
    pub(super) small: Vec<f64>,
    weak: Vec<f64>,
    y: Aligned,
    of_border: Vec<f64>,
    solution: Vec<f64>,
}

/// A constrained parameter of one bin.
#[derive(Debug, Clone)]
pub(super) struct Local {
    pub(super) parameter: usize,
    pub(super) bin: usize,
    pub(super) x: f64,
    pub(super) inverse: f64,
}

impl Narrow {
    pub(super) fn new(layout: &Layout) -> Self {
        let mut place_of_bin = vec![0; layout.bins];
        for channel in &layout.channels {
            let start = layout.blocks.get(channel.blocks.start).map_or(0, |b| b.padded_bins);
            for (bin, place) in channel.bins.clone().zip(start..) {
                place_of_bin[bin] = place;
            }
        }
        // Models with several fronts are never solved in bins.
        let bins = if layout.elimination.fronts.len() > 1 { 0 } else { layout.bins };
        let factor = Symmetric::new(bins);
        Self {
            place_of_bin,
            y: Aligned::zeros(factor.stride),
            factor,
            solution: vec![0.0; layout.names.len()],
            ..Self::default()
        }
    }

    /// Factorises the part of the information that belongs to the `free` parameters, with `damping`
    /// times its diagonal added; false if that is not positive definite.
    pub(super) fn factorise(
        &mut self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        damping: f64,
    ) -> bool {
        self.begin(curvature);
        let damped = |d: f64, info: f64| {
            if damping > 0.0 { d + damping * (d + info).max(1e-10) } else { d }
        };
        let stride = self.factor.stride;
        // Such a model has a single front.
        let (part, front) = (&curvature.parts[0], &layout.elimination.fronts[0]);
        let columns = part.transposed.chunks_exact(front.padded_bins.max(1));
        let globals = layout.elimination.global.iter().zip(&curvature.constraint);
        for ((&parameter, &constraint), column) in globals.zip(columns) {
            let parameter = parameter as usize;
            if !free[parameter] {
                continue;
            }
            let bins = self.place_of_bin.iter().zip(&self.roots);
            let start = self.columns.len();
            self.columns.extend(bins.map(|(&place, root)| root * column[place]));
            self.columns.resize(start + stride, 0.0);
            let row = &self.columns[start..];
            let info = product(row, row);
            let d = damped(constraint, info);
            if d > WEAK * info {
                let inverse = 1.0 / d;
                self.left.extend(row.iter().copied());
                self.right.extend(row.iter().map(|x| inverse * x));
                self.wide.push((parameter, inverse));
                self.columns.truncate(start);
            } else if info > 0.0 {
                self.border.push(parameter);
                self.weak.push(d);
            } else {
                // Nothing depends on it: it stays where it is.
                self.columns.truncate(start);
            }
        }
        self.locals(layout, curvature, free, &damped);
        self.factor.add_products(&self.left, &self.right);
        self.factor.factorise() && self.factorise_border()
    }

    fn begin(&mut self, curvature: &Curvature) {
        self.roots.clear();
        self.roots.extend(curvature.v.iter().map(|v| v.sqrt()));
        self.factor.values.fill(0.0);
        for bin in 0..self.factor.n {
            self.factor.row_mut(bin)[bin] = 1.0;
        }
        self.left.clear();
        self.right.clear();
        self.wide.clear();
        self.locals.clear();
        self.border.clear();
        self.columns.clear();
        self.weak.clear();
    }

    fn locals(
        &mut self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        damped: &dyn Fn(f64, f64) -> f64,
    ) {
        let stride = self.factor.stride;
        for (bin, locals) in layout.elimination.local_of_bin.iter().enumerate() {
            let count = locals.len();
            for (at, local) in locals.clone().enumerate() {
                let parameter = layout.elimination.local[local] as usize;
                if !free[parameter] {
                    continue;
                }
                let constraint = curvature.blocks[curvature.block_of_bin[bin] + at * count + at];
                let x = self.roots[bin] * curvature.slope[local];
                let d = damped(constraint, x * x);
                if d > WEAK * x * x {
                    let inverse = 1.0 / d;
                    self.factor.row_mut(bin)[bin] += x * x * inverse;
                    self.locals.push(Local { parameter, bin, x, inverse });
                } else if x != 0.0 {
                    let start = self.columns.len();
                    self.columns.resize(start + stride, 0.0);
                    self.columns[start + bin] = x;
                    self.border.push(parameter);
                    self.weak.push(d);
                }
            }
        }
    }

    fn factorise_border(&mut self) -> bool {
        let (stride, count) = (self.factor.stride, self.border.len());
        self.solved.clear();
        self.solved.extend_from_slice(&self.columns);
        for column in self.solved.chunks_exact_mut(stride.max(1)) {
            self.factor.solve(column);
        }
        self.small.clear();
        for (i, x) in self.columns.chunks_exact(stride.max(1)).enumerate() {
            let row = self.solved.chunks_exact(stride.max(1)).map(|solved| product(x, solved));
            self.small.extend(row);
            self.small[i * count + i] += self.weak[i];
        }
        // A parameter that is implied by the others leaves only rounding errors on the diagonal.
        let before: Vec<f64> = (0..count).map(|i| self.small[i * count + i]).collect();
        small_cholesky(&mut self.small, count)
            && (0..count).all(|i| self.small[i * count + i].powi(2) > 1e-13 * before[i])
    }

    /// Solves for the free parameters; the others get zero.
    pub(super) fn solve(&mut self, vector: &mut [f64]) {
        dispatch_wide(Solve { narrow: self, vector });
    }
}

struct Solve<'a> {
    narrow: &'a mut Narrow,
    vector: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Narrow {
            factor,
            left,
            right,
            wide,
            locals,
            border,
            columns,
            solved,
            small,
            y,
            of_border,
            solution,
            ..
        } = self.narrow;
        let vector = self.vector;
        let stride = factor.stride.max(1);
        solution.fill(0.0);
        y.fill(0.0);
        for (&(parameter, _), row) in wide.iter().zip(right.chunks_exact(stride)) {
            axpy(simd, y, vector[parameter], row);
        }
        for local in &*locals {
            y[local.bin] += local.x * local.inverse * vector[local.parameter];
        }
        solve(simd, factor, y);
        of_border.clear();
        for (&parameter, x) in border.iter().zip(columns.chunks_exact(stride)) {
            of_border.push(vector[parameter] - dot(simd, x, y));
        }
        small_solve(small, of_border);
        let solved = solved.chunks_exact(stride);
        for ((&parameter, &p), solved) in border.iter().zip(&*of_border).zip(solved) {
            solution[parameter] = p;
            axpy(simd, y, p, solved);
        }
        for (&(parameter, inverse), row) in wide.iter().zip(left.chunks_exact(stride)) {
            solution[parameter] = inverse * (vector[parameter] - dot(simd, row, y));
        }
        for local in &*locals {
            let rest = vector[local.parameter] - local.x * y[local.bin];
            solution[local.parameter] = local.inverse * rest;
        }
        vector.copy_from_slice(solution);
    }
}

#[cfg(test)]
mod tests {
    use crate::fit::System;
    use crate::kernel::{Curvature, Information};
    use crate::synthetic::Twin;
    use crate::{Model, ModelOptions};

    /// The same information as a dense matrix.
    fn dense(curvature: &Curvature) -> Curvature {
        let mut dense = curvature.clone();
        dense.narrow = false;
        dense.parts[0].dense.values.fill(0.0);
        dense
    }

    #[test]
    fn solving_in_bins_equals_solving_in_parameters() {
        for twin in [Twin::Combination, Twin::Search] {
            let model = Model::new(&twin.workspace(3), &ModelOptions::default()).unwrap();
            let layout = &model.layout;
            let theta: Vec<f64> = model.init().iter().map(|value| value + 0.03).collect();
            let mut evaluator = model.evaluator(model.observed());
            let gradient = evaluator.nll_and_gradient(&theta).unwrap().1.to_vec();
            let mut curvature = Curvature::new(layout);
            evaluator.collect(&mut curvature, Information::Fisher);
            assert!(curvature.narrow, "these have few bins");
            let dense = dense(&curvature);
            for (damping, every) in [(0.0, 200), (0.0, 3), (1e-3, 5), (10.0, 2)] {
                let free: Vec<bool> = (0..theta.len()).map(|at| at % every != 1).collect();
                let mut systems = [System::new(layout), System::new(layout)];
                let [mut one, mut two] = [gradient.clone(), gradient.clone()];
                assert!(systems[0].factorise(layout, &curvature, &free, damping));
                systems[0].solve(layout, &curvature, &free, &mut one);
                assert!(systems[1].factorise(layout, &dense, &free, damping));
                systems[1].solve(layout, &dense, &free, &mut two);
                for (one, two) in one.iter().zip(&two) {
                    assert!((one - two).abs() < 1e-9 * (1.0 + two.abs()), "{one} {two}");
                }
            }
            let direct = dense.multiply(layout, &theta);
            for (one, two) in curvature.multiply(layout, &theta).iter().zip(direct) {
                assert!((one - two).abs() < 1e-10 * (1.0 + two.abs()));
            }
        }
    }
}
