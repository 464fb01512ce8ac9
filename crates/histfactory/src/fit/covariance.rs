//! The inverse of the Hessian at a minimum.

use super::System;
use super::lanes::Lanes;
use crate::derivative::Matrix;
use crate::kernel::Curvature;
use crate::model::layout::{LANES, Layout};

/// Covariance of the parameters as the curvature at the minimum gives it. Parameters that are fixed
/// or held by a bound or a kink have none: their rows are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariance {
    matrix: Matrix,
    /// Free parameters of which the curvature says nothing.
    unknown: Vec<bool>,
}

impl Covariance {
    pub(super) fn new(
        layout: &Layout,
        curvature: &Curvature,
        system: &System,
        free: &[bool],
        moving: &[bool],
    ) -> Self {
        let count = moving.len();
        let mut matrix = Matrix::zero(count);
        let columns: Vec<usize> = (0..count).filter(|column| moving[*column]).collect();
        // As many columns at a time as a vector has lanes: the factor is read once for all of them.
        let mut units = Lanes::zeros(count);
        for columns in columns.chunks(LANES) {
            units.clear();
            for (lane, column) in columns.iter().enumerate() {
                units.get_mut(*column)[lane] = 1.0;
            }
            system.solve_lanes(layout, curvature, moving, &mut units);
            for (lane, column) in columns.iter().enumerate() {
                let row = &mut matrix.values[column * count..(column + 1) * count];
                for (value, solved) in row.iter_mut().zip(units.of_lane(lane)) {
                    *value = solved;
                }
            }
        }
        let has_none = |index: usize| free[index] && !(matrix.get(index, index) > 0.0);
        let unknown = (0..count).map(has_none).collect();
        Self { matrix, unknown }
    }

    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The standard deviation of a parameter: zero if it is fixed, NaN if it is free and the curvature
    /// says nothing of it, because a bound or a kink holds it or because nothing depends on it.
    pub fn sigma(&self, parameter: usize) -> f64 {
        if self.unknown[parameter] {
            return f64::NAN;
        }
        self.variance(parameter).sqrt()
    }

    /// The variance of a parameter, zero if it has none.
    pub(crate) fn variance(&self, parameter: usize) -> f64 {
        self.matrix.get(parameter, parameter).max(0.0)
    }

    /// The correlation of two parameters; zero if one of them is held.
    pub fn correlation(&self, one: usize, two: usize) -> f64 {
        let scale = self.sigma(one) * self.sigma(two);
        if scale > 0.0 { self.matrix.get(one, two) / scale } else { 0.0 }
    }
}
