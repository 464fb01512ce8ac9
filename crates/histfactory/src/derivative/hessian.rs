//! Second derivatives in the parameters, as a full matrix.

use std::ops::Range;

use crate::kernel::{Curvature, Information, Part, Simd, WithSimd, dispatch};
use crate::likelihood::Evaluator;
use crate::model::layout::{Layout, Run};
use crate::model::{Data, EvaluationError, Model};

/// The size of the squares that are mirrored together.
const TILE: usize = 4;

/// A square matrix over the parameters, symmetric, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    pub(crate) n: usize,
    pub(crate) values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(n: usize) -> Self {
        Self { n, values: vec![0.0; n * n] }
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.n + column]
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n..(row + 1) * self.n]
    }

    /// Row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.n..(row + 1) * self.n]
    }

    /// Copies the entries above the diagonal of each square, and those of each rectangle, to the other side
    /// of the diagonal.
    pub(crate) fn mirror(&mut self, squares: &[Range<usize>], rectangles: &[[Range<usize>; 2]]) {
        dispatch(Mirror { n: self.n, values: &mut self.values, squares, rectangles });
    }
}

struct Mirror<'a> {
    n: usize,
    values: &'a mut [f64],
    squares: &'a [Range<usize>],
    rectangles: &'a [[Range<usize>; 2]],
}

impl WithSimd for Mirror<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { n, values, .. } = self;
        for square in self.squares {
            for row in square.clone().step_by(TILE) {
                let next = (row + TILE).min(square.end);
                for one in row..next {
                    for two in one + 1..next {
                        values[two * n + one] = values[one * n + two];
                    }
                }
                mirror(values, n, &(row..next), &(next..square.end));
            }
        }
        for [rows, columns] in self.rectangles {
            mirror(values, n, rows, columns);
        }
    }
}

#[inline(always)]
fn mirror(values: &mut [f64], n: usize, rows: &Range<usize>, columns: &Range<usize>) {
    for row in rows.clone().step_by(TILE) {
        for column in columns.clone().step_by(TILE) {
            if row + TILE <= rows.end && column + TILE <= columns.end {
                mirror_tile(values, n, row, column);
                continue;
            }
            for one in row..rows.end.min(row + TILE) {
                for two in column..columns.end.min(column + TILE) {
                    values[two * n + one] = values[one * n + two];
                }
            }
        }
    }
}

#[inline(always)]
fn mirror_tile(values: &mut [f64], n: usize, row: usize, column: usize) {
    let mut tile = [[0.0; TILE]; TILE];
    for (line, from) in tile.iter_mut().zip(row..) {
        line.copy_from_slice(&values[from * n + column..][..TILE]);
    }
    let mut turned = [[0.0; TILE]; TILE];
    for (at, line) in turned.iter_mut().enumerate() {
        for (value, from) in line.iter_mut().zip(&tile) {
            *value = from[at];
        }
    }
    for (line, to) in turned.iter().zip(column..) {
        values[to * n + row..][..TILE].copy_from_slice(line);
    }
}

impl Model {
    /// The Hessian of −log L in all parameters, fixed ones included.
    pub fn hessian(&self, theta: &[f64], data: &Data) -> Result<Matrix, EvaluationError> {
        self.evaluator(data).hessian(theta)
    }
}

impl Evaluator<'_> {
    /// The Hessian of −log L in all parameters, fixed ones included.
    pub fn hessian(&mut self, theta: &[f64]) -> Result<Matrix, EvaluationError> {
        let mut matrix = Matrix::zero(theta.len());
        self.hessian_into(theta, &mut matrix)?;
        Ok(matrix)
    }

    /// The same, written into an existing matrix.
    pub fn hessian_into(
        &mut self,
        theta: &[f64],
        matrix: &mut Matrix,
    ) -> Result<(), EvaluationError> {
        self.nll_and_gradient(theta)?;
        let layout = &self.model.layout;
        let kept = self.curvature.take();
        let mut curvature = kept.unwrap_or_else(|| Box::new(Curvature::new(layout)));
        self.collect(&mut curvature, Information::Exact);
        matrix.n = theta.len();
        matrix.values.resize(theta.len() * theta.len(), 0.0);
        curvature.full(layout, matrix);
        self.curvature = Some(curvature);
        Ok(())
    }

    /// Second derivatives at the point of the latest gradient.
    pub(crate) fn collect(&mut self, curvature: &mut Curvature, information: Information) {
        let Model { layout, numbers, .. } = self.model;
        let data = self.softened.as_deref().unwrap_or(&self.data.values);
        curvature.collect(layout, numbers, data, &mut self.scratch, information);
    }
}

impl Curvature {
    /// Lays everything out in a matrix; afterwards the dense parts include their own terms.
    fn full(&mut self, layout: &Layout, matrix: &mut Matrix) {
        let elimination = &layout.elimination;
        let mut scaled = std::mem::take(&mut self.scaled);
        for (part, front) in self.parts.iter_mut().zip(&elimination.fronts) {
            scaled.clear();
            for (row, &bin) in front.bins.iter().enumerate() {
                let v = self.v[bin as usize];
                scaled.extend(part.row(row).iter().map(|value| v * value));
            }
            part.dense.add_products(&part.jacobian, &scaled);
        }
        self.scaled = scaled;
        if let ([part], [_]) = (self.parts.as_slice(), elimination.fronts.as_slice()) {
            global_rows(part, layout, matrix);
            self.local_rows(layout, matrix);
            // Rows of local parameters are there in full, those of the others from the diagonal on.
            let (global, local): (Vec<&Run>, Vec<&Run>) =
                elimination.runs.iter().partition(|run| run.place.is_some());
            let squares: Vec<_> = global.iter().map(|run| run.parameters.clone()).collect();
            let mut rectangles = Vec::new();
            for (at, one) in squares.iter().enumerate() {
                rectangles.extend(squares[at + 1..].iter().map(|two| [one.clone(), two.clone()]));
                rectangles.extend(local.iter().map(|run| [run.parameters.clone(), one.clone()]));
            }
            matrix.mirror(&squares, &rectangles);
        } else {
            self.scatter(layout, matrix);
        }
        for (&second, &parameter) in self.constraint.iter().zip(&elimination.global) {
            matrix.row_mut(parameter as usize)[parameter as usize] += second;
        }
    }

    /// The same for several fronts: most of the matrix is zero.
    fn scatter(&self, layout: &Layout, matrix: &mut Matrix) {
        matrix.values.fill(0.0);
        let elimination = &layout.elimination;
        for (part, front) in self.parts.iter().zip(&elimination.fronts) {
            if front.bins.is_empty() {
                continue;
            }
            let parameters = || front.parameters.iter().map(|parameter| *parameter as usize);
            for (at, one) in parameters().enumerate() {
                for (two, value) in parameters().zip(part.dense.row(at)).skip(at) {
                    matrix.row_mut(one)[two] += value;
                    if two != one {
                        matrix.row_mut(two)[one] += value;
                    }
                }
            }
            for (row, &bin) in front.bins.iter().enumerate() {
                let bin = bin as usize;
                for local in elimination.local_of_bin[bin].clone() {
                    let one = elimination.local[local] as usize;
                    for (at, two) in parameters().enumerate() {
                        let value = self.beside(part, row, bin, local, at);
                        matrix.row_mut(one)[two] = value;
                        matrix.row_mut(two)[one] = value;
                    }
                    for other in elimination.local_of_bin[bin].clone() {
                        let two = elimination.local[other] as usize;
                        matrix.row_mut(one)[two] = self.of_locals(layout, bin, local, other);
                    }
                }
            }
        }
    }

    /// The entry of a local parameter of a bin and a parameter of the bin's front.
    fn beside(&self, part: &Part, row: usize, bin: usize, local: usize, at: usize) -> f64 {
        let multiple = self.multiple[local] + self.v[bin] * self.slope[local];
        let own = self.own_row[local].map_or(0.0, |own| part.own_row(own)[at]);
        multiple * part.row(row)[at] + own
    }

    /// The entry of two local parameters of a bin.
    fn of_locals(&self, layout: &Layout, bin: usize, one: usize, two: usize) -> f64 {
        let locals = &layout.elimination.local_of_bin[bin];
        let place = (one - locals.start) * locals.len() + two - locals.start;
        let block = self.blocks[self.block_of_bin[bin] + place];
        block + self.v[bin] * self.slope[one] * self.slope[two]
    }

    fn local_rows(&self, layout: &Layout, matrix: &mut Matrix) {
        let elimination = &layout.elimination;
        let part = &self.parts[0];
        for (bin, locals) in elimination.local_of_bin.iter().enumerate() {
            let of_bin = part.row(elimination.row_of_bin[bin] as usize);
            for local in locals.clone() {
                let row = matrix.row_mut(elimination.local[local] as usize);
                let multiple = self.multiple[local] + self.v[bin] * self.slope[local];
                for run in &elimination.runs {
                    let row = &mut row[run.parameters.clone()];
                    let Some(place) = run.place else {
                        row.fill(0.0);
                        continue;
                    };
                    for (value, of_bin) in row.iter_mut().zip(&of_bin[place..]) {
                        *value = multiple * of_bin;
                    }
                    if let Some(own) = self.own_row[local] {
                        let own = &part.own_row(own)[place..];
                        row.iter_mut().zip(own).for_each(|(value, own)| *value += own);
                    }
                }
                for other in locals.clone() {
                    let second = self.of_locals(layout, bin, local, other);
                    row[elimination.local[other] as usize] = second;
                }
            }
        }
    }

    /// H·p, for all parameters.
    pub(crate) fn multiply(&self, layout: &Layout, p: &[f64]) -> Vec<f64> {
        let elimination = &layout.elimination;
        let mut out = vec![0.0; p.len()];
        for (&second, &parameter) in self.constraint.iter().zip(&elimination.global) {
            out[parameter as usize] += second * p[parameter as usize];
        }
        for (part, front) in self.parts.iter().zip(&elimination.fronts) {
            if front.bins.is_empty() || self.narrow {
                continue;
            }
            for (i, &one) in front.parameters.iter().enumerate() {
                let row = &part.dense.row(i)[..front.len()];
                out[one as usize] += row[i] * p[one as usize];
                for (value, &two) in row.iter().zip(&front.parameters).skip(i + 1) {
                    out[one as usize] += value * p[two as usize];
                    out[two as usize] += value * p[one as usize];
                }
            }
        }
        for (bin, front, row) in self.rows(layout) {
            let locals = &elimination.local_of_bin[bin];
            let of_global: f64 = front
                .parameters
                .iter()
                .zip(row)
                .map(|(&parameter, value)| value * p[parameter as usize])
                .sum();
            let mut along = of_global;
            for local in locals.clone() {
                along += self.slope[local] * p[elimination.local[local] as usize];
            }
            let mut scale = self.v[bin] * along;
            for (i, local) in locals.clone().enumerate() {
                let parameter = elimination.local[local] as usize;
                scale += self.multiple[local] * p[parameter];
                out[parameter] +=
                    self.v[bin] * self.slope[local] * along + self.multiple[local] * of_global;
                for (j, other) in locals.clone().enumerate() {
                    let block = self.blocks[self.block_of_bin[bin] + i * locals.len() + j];
                    out[parameter] += block * p[elimination.local[other] as usize];
                }
                if let Some(own) = self.own_row[local] {
                    let part = &self.parts[elimination.front_of_bin[bin] as usize];
                    for (&two, value) in front.parameters.iter().zip(part.own_row(own)) {
                        out[parameter] += value * p[two as usize];
                        out[two as usize] += value * p[parameter];
                    }
                }
            }
            for (&parameter, value) in front.parameters.iter().zip(row) {
                out[parameter as usize] += scale * value;
            }
        }
        out
    }
}

/// Rows of the dense part, from the diagonal on.
fn global_rows(part: &Part, layout: &Layout, matrix: &mut Matrix) {
    let runs = &layout.elimination.runs;
    for (at, run) in runs.iter().enumerate() {
        let Some(first) = run.place else { continue };
        for (i, parameter) in run.parameters.clone().enumerate() {
            let (from, to) = (part.dense.row(first + i), matrix.row_mut(parameter));
            let length = run.parameters.len() - i;
            to[parameter..][..length].copy_from_slice(&from[first + i..][..length]);
            for other in &runs[at + 1..] {
                if let Some(place) = other.place {
                    let length = other.parameters.len();
                    to[other.parameters.clone()].copy_from_slice(&from[place..][..length]);
                }
            }
        }
    }
}
