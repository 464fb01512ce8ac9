//! Profile likelihoods along a parameter.

use super::InferenceError;
use super::statistic::Profile;
use crate::model::{Data, EvaluationError, Model};

/// A point of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanPoint {
    pub value: f64,
    pub nll: f64,
    /// 2[NLL − NLL at the free fit].
    pub t: f64,
    /// All parameters there.
    pub theta: Vec<f64>,
}

impl Model {
    /// The profile likelihood at each of `values` of a parameter.
    pub fn scan(
        &self,
        data: &Data,
        parameter: usize,
        values: &[f64],
    ) -> Result<Vec<ScanPoint>, InferenceError> {
        if parameter >= self.parameter_count() {
            let name = parameter.to_string();
            return Err(EvaluationError::NoSuchParameter { name }.into());
        }
        let mut profile = Profile::of(self, data, parameter)?;
        let free = profile.free()?;
        // From the best fit outwards, so that each fit starts near its end.
        let mut order: Vec<usize> = (0..values.len()).collect();
        let best = free.theta[parameter];
        order.sort_by(|a, b| (values[*a] - best).abs().total_cmp(&(values[*b] - best).abs()));
        let mut points: Vec<Option<ScanPoint>> = vec![None; values.len()];
        let mut nearest = [free.theta.clone(), free.theta.clone()];
        for index in order {
            let value = values[index];
            let side = usize::from(value > best);
            profile.latest = Some(nearest[side].clone());
            let fit = profile.at(value)?;
            nearest[side].clone_from(&fit.theta);
            let t = 2.0 * (fit.nll - free.nll);
            points[index] = Some(ScanPoint { value, nll: fit.nll, t, theta: fit.theta });
        }
        Ok(points.into_iter().flatten().collect())
    }
}
