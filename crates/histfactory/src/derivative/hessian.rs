//! Second derivatives in the parameters, laid out in full.

use crate::kernel::{Curvature, Information};
use crate::likelihood::Evaluator;
use crate::model::layout::Layout;
use crate::model::{Data, EvaluationError, Model};

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

    fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.n + column] += value;
        if row != column {
            self.values[column * self.n + row] += value;
        }
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

    /// The same into a matrix that is used again.
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
        matrix.values.fill(0.0);
        curvature.full(layout, matrix);
        self.curvature = Some(curvature);
        Ok(())
    }

    /// Second derivatives at the point of the latest gradient.
    pub(crate) fn collect(&mut self, curvature: &mut Curvature, information: Information) {
        let Model { layout, numbers, .. } = self.model;
        curvature.collect(layout, numbers, &self.data.values, &mut self.scratch, information);
    }
}

impl Curvature {
    /// Lays everything out in a matrix of zeros; the dense part then holds all of its own.
    fn full(&mut self, layout: &Layout, matrix: &mut Matrix) {
        let elimination = &layout.elimination;
        let stride = self.dense.stride;
        let mut scaled = std::mem::take(&mut self.scaled);
        scaled.clear();
        for (row, v) in self.jacobian.chunks_exact(stride.max(1)).zip(&self.v) {
            scaled.extend(row.iter().map(|value| v * value));
        }
        self.dense.add_products(&self.jacobian, &scaled);
        self.scaled = scaled;
        let dense = &self.dense;
        let global = &elimination.global;
        for (i, &one) in global.iter().enumerate() {
            for (j, &two) in global.iter().enumerate().skip(i) {
                matrix.add(one as usize, two as usize, dense.row(i)[j]);
            }
        }
        for (bin, locals) in elimination.local_of_bin.iter().enumerate() {
            for (i, local) in locals.clone().enumerate() {
                let one = elimination.local[local] as usize;
                for (place, &two) in global.iter().enumerate() {
                    let of_bin = self.jacobian[bin * stride + place];
                    let multiple = self.multiple[local] + self.v[bin] * self.slope[local];
                    let own =
                        self.own_row[local].map_or(0.0, |row| self.rows[row * stride + place]);
                    matrix.add(one, two as usize, multiple * of_bin + own);
                }
                for (j, other) in locals.clone().enumerate().skip(i) {
                    let block = self.blocks[self.block_of_bin[bin] + i * locals.len() + j];
                    let second = block + self.v[bin] * self.slope[local] * self.slope[other];
                    matrix.add(one, elimination.local[other] as usize, second);
                }
            }
        }
    }

    /// H·p, for all parameters.
    pub(crate) fn multiply(&self, layout: &Layout, p: &[f64]) -> Vec<f64> {
        let elimination = &layout.elimination;
        let stride = self.dense.stride;
        let global = &elimination.global;
        let mut out = vec![0.0; p.len()];
        for (i, &one) in global.iter().enumerate() {
            let row = &self.dense.row(i)[..global.len()];
            out[one as usize] += row[i] * p[one as usize];
            for (j, &two) in global.iter().enumerate().skip(i + 1) {
                out[one as usize] += row[j] * p[two as usize];
                out[two as usize] += row[j] * p[one as usize];
            }
        }
        for (bin, locals) in elimination.local_of_bin.iter().enumerate() {
            let row = &self.jacobian[bin * stride..(bin + 1) * stride];
            let of_global: f64 = global
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
                    let own = &self.rows[own * stride..(own + 1) * stride];
                    for (&two, value) in global.iter().zip(own) {
                        out[parameter] += value * p[two as usize];
                        out[two as usize] += value * p[parameter];
                    }
                }
            }
            for (&parameter, value) in global.iter().zip(row) {
                out[parameter as usize] += scale * value;
            }
        }
        out
    }
}
