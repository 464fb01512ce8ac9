//! Pseudo-experiments: data drawn from a model, and fits to them.

mod batch;
mod fits;
mod random;
mod shard;
mod starts;
mod statistics;

pub use batch::BatchEvaluator;
pub use fits::{ToyFit, ToyOptions};
pub use shard::Shard;
pub use statistics::ToyTest;

use crate::model::{Constraint, Data, EvaluationError, Model};
use random::Stream;

impl Model {
    /// The toy with this number: counts and auxiliary measurements drawn at `theta`.
    ///
    /// A toy depends only on the seed and its number.
    ///
    /// ```
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let toy = model.toy(model.init(), 42, 7)?;
    /// assert_eq!(toy, model.toy(model.init(), 42, 7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn toy(&self, theta: &[f64], seed: u64, number: u64) -> Result<Data, EvaluationError> {
        let expected = self.expected_data(theta)?;
        self.check_expected(&expected)?;
        Ok(self.draw(&expected, seed, number))
    }

    /// Toys `0..count`.
    pub fn toys(&self, theta: &[f64], count: u64, seed: u64) -> Result<Vec<Data>, EvaluationError> {
        let expected = self.expected_data(theta)?;
        self.check_expected(&expected)?;
        Ok((0..count).map(|number| self.draw(&expected, seed, number)).collect())
    }

    fn check_expected(&self, expected: &[f64]) -> Result<(), EvaluationError> {
        Data::new(self, expected.to_vec()).map(|_| ())
    }

    pub(crate) fn draw(&self, expected: &[f64], seed: u64, number: u64) -> Data {
        let mut values = expected.to_vec();
        let bins = self.bin_count();
        let stream =
            |place: usize| Stream::new(seed, number, u32::try_from(place).unwrap_or(u32::MAX));
        for (bin, value) in values[..bins].iter_mut().enumerate() {
            *value = stream(bin).poisson(*value);
        }
        for constraint in &self.numbers.constraints {
            match *constraint {
                Constraint::Free => {}
                Constraint::Normal { auxiliary, sigma } => {
                    let place = bins + auxiliary;
                    values[place] += sigma * stream(place).normal();
                }
                Constraint::Poisson { auxiliary, .. } => {
                    let place = bins + auxiliary;
                    values[place] = stream(place).poisson(values[place]);
                }
            }
        }
        Data::trusted(self, values)
    }
}
