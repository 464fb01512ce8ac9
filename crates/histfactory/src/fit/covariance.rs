//! The inverse of the Hessian at a minimum.
//!
//! A fit keeps the factorised Hessian. The inverse is computed on first access, since that takes longer than
//! the fit.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::System;
use super::inverse::Inverse;
use super::lanes::Lanes;
use super::newton::Fitter;
use super::result::FlatDirection;
use super::state::State;
use crate::derivative::Matrix;
use crate::kernel::{Aligned, Curvature, Information};
use crate::model::layout::{LANES, Layout};

/// The largest distance, in standard deviations, of two points with the same Hessian.
const SAME_POINT: f64 = 1e-10;

/// A point and its gradient.
#[derive(Debug, Clone)]
pub(super) struct ExactPoint {
    pub(super) theta: Vec<f64>,
    pub(super) gradient: Vec<f64>,
}

/// Covariance of the parameters from the curvature at the minimum. Parameters that are fixed or held by a
/// bound or a kink have zero rows.
///
/// The matrix and the variances are computed on first access, from the factor that the fit left.
#[derive(Debug, Clone)]
pub struct Covariance {
    pub(super) factor: Arc<Factor>,
    matrix: OnceLock<Matrix>,
    variances: OnceLock<Vec<f64>>,
}

/// A factorised Hessian.
#[derive(Debug)]
pub(super) struct Factor {
    pub(super) layout: Arc<Layout>,
    pub(super) curvature: Curvature,
    pub(super) system: System,
    /// Parameters that the fit was free to move, and those not held at the minimum.
    pub(super) free: Vec<bool>,
    pub(super) moving: Vec<bool>,
    /// Memory for the inverse, reused by the next fit.
    pub(super) spare: Mutex<Aligned>,
}

impl Factor {
    /// Calls `read` with the parts of the whole inverse, if there is one front.
    fn with_inverse<'a, T>(&'a self, read: fn(&Inverse<'a>) -> T) -> Option<T> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let inverse = Inverse::new(self, std::mem::take(&mut spare))?;
        let found = read(&inverse);
        *spare = inverse.into_memory();
        Some(found)
    }

    /// Columns of the inverse. As many as a vector has lanes are computed together, so the factor is read
    /// once for all of them.
    pub(super) fn columns(&self, wanted: &[usize], mut found: impl FnMut(usize, usize, &Lanes)) {
        let Self { layout, curvature, system, moving, .. } = self;
        let mut units = Lanes::zeros(moving.len());
        for columns in wanted.chunks(LANES) {
            units.clear();
            for (lane, column) in columns.iter().enumerate() {
                units.get_mut(*column)[lane] = 1.0;
            }
            system.solve_lanes(layout, curvature, moving, &mut units);
            for (lane, column) in columns.iter().enumerate() {
                found(lane, *column, &units);
            }
        }
    }

    pub(super) fn moving(&self) -> Vec<usize> {
        (0..self.moving.len()).filter(|parameter| self.moving[*parameter]).collect()
    }
}

impl Covariance {
    pub(super) fn new(factor: Arc<Factor>) -> Self {
        Self { factor, matrix: OnceLock::new(), variances: OnceLock::new() }
    }

    pub fn matrix(&self) -> &Matrix {
        self.matrix.get_or_init(|| {
            if let Some(matrix) = self.factor.with_inverse(Inverse::matrix) {
                return matrix;
            }
            let count = self.factor.moving.len();
            let mut matrix = Matrix::zero(count);
            self.factor.columns(&self.factor.moving(), |lane, column, units| {
                let row = matrix.row_mut(column);
                row.iter_mut().zip(units.of_lane(lane)).for_each(|(value, solved)| *value = solved);
            });
            matrix
        })
    }

    /// The variances of all parameters, without the rest of the matrix.
    fn variances(&self) -> &[f64] {
        self.variances.get_or_init(|| {
            let count = self.factor.moving.len();
            let mut variances = vec![0.0; count];
            if let Some(matrix) = self.matrix.get() {
                variances
                    .iter_mut()
                    .enumerate()
                    .for_each(|(at, value)| *value = matrix.get(at, at));
            } else if let Some(variances) = self.factor.with_inverse(Inverse::variances) {
                return variances;
            } else {
                self.factor.columns(&self.factor.moving(), |lane, column, units| {
                    variances[column] = units.get(column)[lane];
                });
            }
            variances
        })
    }

    /// The standard deviation of a parameter: zero if it is fixed. NaN if it is free but has no curvature,
    /// because a bound or a kink holds it or because nothing depends on it.
    pub fn sigma(&self, parameter: usize) -> f64 {
        self.sigma_of(parameter, self.variances()[parameter])
    }

    /// The standard deviations of a few parameters, without those of the others.
    pub(super) fn sigmas(&self, parameters: &[usize]) -> Vec<f64> {
        let mut variances = vec![0.0; self.factor.moving.len()];
        let moving: Vec<usize> =
            parameters.iter().copied().filter(|at| self.factor.moving[*at]).collect();
        self.factor.columns(&moving, |lane, column, units| {
            variances[column] = units.get(column)[lane];
        });
        parameters.iter().map(|at| self.sigma_of(*at, variances[*at])).collect()
    }

    fn sigma_of(&self, parameter: usize, variance: f64) -> f64 {
        let is_unknown = self.factor.free[parameter] && !(variance > 0.0);
        if is_unknown { f64::NAN } else { variance.max(0.0).sqrt() }
    }

    /// The correlation of two parameters; zero if one of them is held.
    pub fn correlation(&self, one: usize, two: usize) -> f64 {
        let scale = self.sigma(one) * self.sigma(two);
        if scale > 0.0 { self.matrix().get(one, two) / scale } else { 0.0 }
    }
}

impl PartialEq for Covariance {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.factor, &other.factor)
            || (self.factor.free == other.factor.free && self.matrix() == other.matrix())
    }
}

impl Fitter<'_> {
    /// The covariance at the point of the latest evaluation, and a direction that the data and constraints do
    /// not determine.
    pub(super) fn covariance(
        &mut self,
        state: &State,
    ) -> (Option<Covariance>, Option<FlatDirection>) {
        let layout = &self.evaluator.model.layout;
        let mut is_factorised = self.has_exact_factor(state);
        if !is_factorised {
            self.evaluator.collect(&mut self.curvature, Information::Exact);
            is_factorised = self.system.factorise(layout, &self.curvature, &state.moving, 0.0);
        }
        self.exact = None;
        let covariance = is_factorised.then(|| {
            self.factored.fill(false);
            let factor = Arc::new(Factor {
                layout: Arc::clone(layout),
                curvature: std::mem::take(&mut self.curvature),
                system: std::mem::take(&mut self.system),
                free: state.free.clone(),
                moving: state.moving.clone(),
                spare: Mutex::new(std::mem::take(&mut self.spare)),
            });
            self.lent = Some(Arc::clone(&factor));
            Covariance::new(factor)
        });
        let flat = self.flat_direction(state, covariance.as_ref());
        (covariance, flat)
    }

    /// Whether the factor is that of the exact Hessian at the final point, or at a point so close that the
    /// Hessian has not changed.
    fn has_exact_factor(&self, state: &State) -> bool {
        let Some(exact) = &self.exact else { return false };
        // The step's length in standard deviations, squared: the step times the change of the gradient.
        let mut square = 0.0;
        for i in 0..state.theta.len() {
            let step = state.theta[i] - exact.theta[i];
            square += step * (state.gradient[i] - exact.gradient[i]);
        }
        self.factored == state.moving && square.abs() < SAME_POINT * SAME_POINT
    }

    /// New memory for a factor if a covariance still holds the old one.
    pub(super) fn renew(&mut self) {
        if !self.curvature.parts.is_empty() {
            return;
        }
        let layout = &self.evaluator.model.layout;
        match self.lent.take().and_then(Arc::into_inner) {
            None => (self.curvature, self.system) = (Curvature::new(layout), System::new(layout)),
            Some(Factor { curvature, system, spare, .. }) => {
                (self.curvature, self.system) = (curvature, system);
                self.spare = spare.into_inner().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
