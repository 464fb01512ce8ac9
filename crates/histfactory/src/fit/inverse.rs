//! The whole inverse of a Hessian that is factorised in one front, by products of matrices.
//!
//! With C the inverse of the dense part, B the block of a bin's local parameters and r their rows
//! against the dense part, R = B⁻¹r: local parameters have −RC beside the dense ones, and B⁻¹ + RCRᵀ
//! among themselves.

use super::covariance::Factor;
use super::system::{Eliminated, small_solve};
use crate::derivative::Matrix;
use crate::kernel::{Aligned, Simd, WithSimd, dispatch};
use crate::linalg::{Symmetric, add_multiple, axpy, product};

pub(super) struct Inverse<'a> {
    factor: &'a Factor,
    stride: usize,
    /// U⁻ᵀ.
    root: Aligned,
    /// Places of the dense part that moved.
    used: Vec<usize>,
    locals: Vec<Local>,
    /// R, a row for each local parameter.
    rows: Vec<f64>,
}

struct Local {
    parameter: usize,
    bin: usize,
    /// Its row of B⁻¹, from the first local parameter of the bin on.
    beside: Vec<f64>,
    first: usize,
}

impl<'a> Inverse<'a> {
    /// Nothing where there are several fronts: they are solved column by column.
    pub(super) fn new(factor: &'a Factor) -> Option<Self> {
        let elimination = &factor.layout.elimination;
        let ([dense], [front], false) =
            (&*factor.system.factors, &*elimination.fronts, factor.system.is_narrow)
        else {
            return None;
        };
        let used = (0..front.own).filter(|at| factor.system.used[*at]).collect();
        let root = dense.inverse_factor();
        let mut inverse =
            Self { factor, stride: dense.stride, root, used, locals: Vec::new(), rows: Vec::new() };
        for (row, &bin) in front.bins.iter().enumerate() {
            inverse.add_locals(row, bin as usize);
        }
        // Parameters of the dense part that did not move have no row.
        let unused: Vec<usize> = (0..front.own).filter(|at| !factor.system.used[*at]).collect();
        for row in inverse.rows.chunks_exact_mut(inverse.stride.max(1)) {
            for &at in &unused {
                row[at] = 0.0;
            }
        }
        Some(inverse)
    }

    fn add_locals(&mut self, row: usize, bin: usize) {
        let (system, part) = (&self.factor.system, &self.factor.curvature.parts[0]);
        let local_parameters = &self.factor.layout.elimination.local;
        let first = self.locals.len();
        match &system.bins[bin] {
            Eliminated::Nothing => {}
            Eliminated::One { local, diagonal, multiple } => {
                let scale = multiple / diagonal;
                self.rows.extend(part.row(row).iter().map(|value| scale * value));
                let parameter = local_parameters[*local] as usize;
                self.locals.push(Local { parameter, bin, beside: vec![1.0 / diagonal], first });
            }
            Eliminated::Several { locals, factor, first: from } => {
                let count = locals.len();
                let start = self.rows.len();
                self.rows.resize(start + count * self.stride, 0.0);
                let given = &system.rows[*from..*from + count * self.stride];
                for (at, local) in locals.iter().enumerate() {
                    let mut beside = vec![0.0; count];
                    beside[at] = 1.0;
                    small_solve(factor, &mut beside);
                    let target = &mut self.rows[start + at * self.stride..][..self.stride];
                    for (scale, row) in beside.iter().zip(given.chunks_exact(self.stride)) {
                        add_multiple(target, *scale, row);
                    }
                    let parameter = local_parameters[*local] as usize;
                    self.locals.push(Local { parameter, bin, beside, first });
                }
            }
        }
    }

    fn dense_parameter(&self, place: usize) -> usize {
        self.factor.layout.elimination.fronts[0].parameters[place] as usize
    }

    pub(super) fn variances(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.stride];
        for row in self.root.chunks_exact(self.stride.max(1)) {
            squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        let mut variances = vec![0.0; self.factor.moving.len()];
        for &place in &self.used {
            variances[self.dense_parameter(place)] = squares[place];
        }
        for (index, (local, row)) in
            self.locals.iter().zip(self.rows.chunks_exact(self.stride.max(1))).enumerate()
        {
            // |V Rᵀ|².
            let columns = self.root.chunks_exact(self.stride.max(1)).enumerate();
            let square: f64 = columns.map(|(at, v)| product(&row[..=at], &v[..=at]).powi(2)).sum();
            variances[local.parameter] = local.beside[index - local.first] + square;
        }
        variances
    }

    /// RC.
    fn turned(&self, dense: &Symmetric) -> Vec<f64> {
        let mut turned = vec![0.0; self.rows.len()];
        dispatch(Turn { rows: &self.rows, dense, turned: &mut turned });
        turned
    }

    pub(super) fn matrix(&self) -> Matrix {
        let stride = self.stride.max(1);
        let front = &self.factor.layout.elimination.fronts[0];
        let dense = Symmetric::squared(front.own, &self.root);
        let mut matrix = Matrix::zero(self.factor.moving.len());
        for &one in &self.used {
            let (values, row) = (dense.row(one), matrix.row_mut(self.dense_parameter(one)));
            for &two in &self.used {
                row[front.parameters[two] as usize] = values[two];
            }
        }
        let rows: Vec<&[f64]> = self.rows.chunks_exact(stride).collect();
        let turned = self.turned(&dense);
        for (index, local) in self.locals.iter().enumerate() {
            let turned = &turned[index * stride..(index + 1) * stride];
            for &place in &self.used {
                let parameter = self.dense_parameter(place);
                matrix.row_mut(parameter)[local.parameter] = -turned[place];
                matrix.row_mut(local.parameter)[parameter] = -turned[place];
            }
            for (at, other) in self.locals.iter().enumerate().take(index + 1) {
                let mut value = product(turned, rows[at]);
                if other.bin == local.bin {
                    value += local.beside[at - local.first];
                }
                matrix.row_mut(local.parameter)[other.parameter] = value;
                matrix.row_mut(other.parameter)[local.parameter] = value;
            }
        }
        matrix
    }
}

struct Turn<'a> {
    rows: &'a [f64],
    dense: &'a Symmetric,
    turned: &'a mut [f64],
}

impl WithSimd for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = self.dense.stride.max(1);
        let pairs = self.turned.chunks_exact_mut(stride).zip(self.rows.chunks_exact(stride));
        for (turned, row) in pairs {
            for (place, scale) in row.iter().take(self.dense.n).enumerate() {
                if *scale != 0.0 {
                    axpy(simd, turned, *scale, self.dense.row(place));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Limits, Twin, any};
    use crate::{FitOptions, Model, ModelOptions, Workspace};

    fn compare(workspace: &Workspace, name: &str) -> usize {
        let model = Model::new(workspace, &ModelOptions::default()).unwrap();
        let options = FitOptions::default().with_covariance();
        let Ok(fit) = model.fit(model.observed(), &options) else { return 0 };
        let Some(covariance) = fit.covariance else { return 0 };
        let factor = &covariance.factor;
        let Some(inverse) = Inverse::new(factor) else { return 0 };
        let (matrix, variances) = (inverse.matrix(), inverse.variances());
        // With a direction that is flat up to rounding every inverse is noise.
        if variances.iter().any(|variance| *variance > 1e6) {
            return 0;
        }
        let scale: Vec<f64> = variances.iter().map(|v| v.sqrt().max(1e-30)).collect();
        factor.columns(&factor.moving(), |lane, column, units| {
            for (row, value) in units.of_lane(lane).enumerate() {
                let error = (matrix.get(row, column) - value).abs();
                assert!(error <= 1e-8 * scale[row] * scale[column], "{name}: {row} {column}");
            }
            let error = (variances[column] - units.get(column)[lane]).abs();
            assert!(error <= 1e-8 * variances[column], "{name}: {column} {error}");
        });
        1
    }

    #[test]
    fn the_whole_inverse_is_what_solving_for_its_columns_gives() {
        let mut compared = 0;
        for twin in Twin::ALL {
            compared += compare(&twin.workspace(1), &format!("{twin:?}"));
        }
        for seed in 0..120 {
            compared += compare(&any(seed, Limits::default()), &format!("seed {seed}"));
        }
        assert!(compared > 60, "{compared}");
    }
}
