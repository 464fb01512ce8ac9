//! The whole inverse of a Hessian that was factorised in one front, by matrix products.
//!
//! With C the inverse of the dense part, B the block of a bin's local parameters and r their rows
//! against the dense part, R = B⁻¹r: local parameters have −RC beside the dense ones, and B⁻¹ + RCRᵀ
//! among themselves. With UᵀU the dense part and W = U⁻ᵀ (1, −Rᵀ) all of it is WᵀW, plus B⁻¹.

use std::ops::Range;

use super::covariance::Factor;
use super::system::{Eliminated, small_solve};
use crate::derivative::Matrix;
use crate::kernel::Aligned;
use crate::linalg::{Root, add_multiple};
use crate::model::layout::Run;

pub(super) struct Inverse<'a> {
    factor: &'a Factor,
    /// W. Local parameters have their columns in the order of the parameters.
    root: Root,
    /// The number of each parameter's column.
    columns: Vec<usize>,
    /// Entries of B⁻¹, with the parameters they belong to.
    blocks: Vec<(usize, usize, f64)>,
}

impl<'a> Inverse<'a> {
    /// `None` if there are several fronts; then the inverse is computed column by column.
    pub(super) fn new(factor: &'a Factor, memory: Aligned) -> Option<Self> {
        let elimination = &factor.layout.elimination;
        let ([dense], [front], false) =
            (&*factor.system.factors, &*elimination.fronts, factor.system.is_narrow)
        else {
            return None;
        };
        let mut columns = vec![0; factor.moving.len()];
        let mut next = dense.stride;
        for Run { parameters, place } in &elimination.runs {
            let start = place.unwrap_or(next);
            if place.is_none() {
                next += parameters.len();
            }
            parameters.clone().zip(start..).for_each(|(parameter, at)| columns[parameter] = at);
        }
        let mut eliminated = LocalRows {
            factor,
            stride: dense.stride,
            rows: vec![0.0; elimination.local.len() * dense.stride],
            blocks: Vec::new(),
        };
        for (row, &bin) in front.bins.iter().enumerate() {
            eliminated.add(row, bin as usize, |parameter| columns[parameter] - dense.stride);
        }
        let LocalRows { mut rows, blocks, .. } = eliminated;
        let unused: Vec<usize> = (0..front.own).filter(|at| !factor.system.used[*at]).collect();
        let stride = dense.stride.max(1);
        for row in rows.chunks_exact_mut(stride) {
            for &at in &unused {
                row[at] = 0.0;
            }
        }
        let rows: Vec<&[f64]> = rows.chunks_exact(stride).collect();
        Some(Self { factor, root: Root::new(dense, &rows, memory), columns, blocks })
    }

    pub(super) fn into_memory(self) -> Aligned {
        self.root.values
    }

    fn is_used(&self, parameter: usize) -> bool {
        let column = self.columns[parameter];
        column >= self.root.triangle || self.factor.system.used[column]
    }

    pub(super) fn variances(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.root.stride];
        for row in self.root.values.chunks_exact(self.root.stride.max(1)) {
            squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        let variance = |(parameter, column): (usize, &usize)| {
            if self.is_used(parameter) { squares[*column] } else { 0.0 }
        };
        let mut variances: Vec<f64> = self.columns.iter().enumerate().map(variance).collect();
        for &(one, two, value) in &self.blocks {
            if one == two {
                variances[one] += value;
            }
        }
        variances
    }

    pub(super) fn matrix(&self) -> Matrix {
        let count = self.columns.len();
        let mut matrix = Matrix::zero(count);
        // Sorted by column.
        let mut runs: Vec<Range<usize>> =
            self.factor.layout.elimination.runs.iter().map(|run| run.parameters.clone()).collect();
        runs.sort_by_key(|run| self.columns[run.start]);
        let mut rows = runs.iter().cloned().flatten();
        let mut next = rows.next();
        self.root.square(|column, values| {
            let Some(row) = next.filter(|row| self.columns[*row] == column) else { return };
            next = rows.next();
            for run in &runs {
                let start = self.columns[run.start];
                let skipped = column.saturating_sub(start).min(run.len());
                let target = &mut matrix.row_mut(row)[run.start + skipped..run.end];
                target.copy_from_slice(&values[start + skipped..start + run.len()]);
            }
        });
        let rectangles: Vec<[Range<usize>; 2]> = (0..runs.len())
            .flat_map(|at| runs[at + 1..].iter().map(move |later| (at, later)))
            .map(|(at, later)| [runs[at].clone(), later.clone()])
            .collect();
        matrix.mirror(&runs, &rectangles);
        for unused in (0..count).filter(|parameter| !self.is_used(*parameter)) {
            matrix.row_mut(unused).fill(0.0);
            (0..count).for_each(|row| matrix.row_mut(row)[unused] = 0.0);
        }
        for &(one, two, value) in &self.blocks {
            matrix.row_mut(one)[two] += value;
        }
        matrix
    }
}

/// −R and B⁻¹ while they are built.
struct LocalRows<'a> {
    factor: &'a Factor,
    stride: usize,
    rows: Vec<f64>,
    blocks: Vec<(usize, usize, f64)>,
}

impl LocalRows<'_> {
    /// Adds the local parameters of a bin; `number` gives the number of a parameter's row.
    fn add(&mut self, row: usize, bin: usize, number: impl Fn(usize) -> usize) {
        let (system, part) = (&self.factor.system, &self.factor.curvature.parts[0]);
        let parameter_of = |local: &usize| self.factor.layout.elimination.local[*local] as usize;
        match &system.bins[bin] {
            Eliminated::Nothing => {}
            Eliminated::One { local, diagonal, multiple } => {
                let parameter = parameter_of(local);
                let target = &mut self.rows[number(parameter) * self.stride..][..self.stride];
                add_multiple(target, -multiple / diagonal, part.row(row));
                self.blocks.push((parameter, parameter, 1.0 / diagonal));
            }
            Eliminated::Several { locals, factor, first } => {
                let count = locals.len();
                let given = &system.rows[*first..*first + count * self.stride];
                for (at, local) in locals.iter().enumerate() {
                    let mut beside = vec![0.0; count];
                    beside[at] = 1.0;
                    small_solve(factor, &mut beside);
                    let parameter = parameter_of(local);
                    let target = &mut self.rows[number(parameter) * self.stride..][..self.stride];
                    for (scale, row) in beside.iter().zip(given.chunks_exact(self.stride)) {
                        add_multiple(target, -scale, row);
                    }
                    let others = locals.iter().map(parameter_of);
                    let entries =
                        others.zip(beside).map(|(other, value)| (parameter, other, value));
                    self.blocks.extend(entries);
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
        let Some(inverse) = Inverse::new(factor, Aligned::default()) else { return 0 };
        let (matrix, variances) = (inverse.matrix(), inverse.variances());
        // With a direction that is flat up to rounding, every inverse is noise.
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
    fn the_whole_inverse_equals_its_solved_columns() {
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
