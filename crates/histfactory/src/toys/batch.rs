//! The likelihood of many points and data sets: blocks of them run in parallel on threads, and sequentially
//! within a block.
//!
//! A single point fills the vectors of a processor, see `docs/design/why-fits-are-newton.md`.

use rayon::prelude::*;

use crate::kernel::Scratch;
use crate::likelihood::Evaluator;
use crate::model::{Data, EvaluationError, Model};

/// The number of points that one thread evaluates in a row; a smaller number is not worth waking another
/// thread.
const BLOCK: usize = 64;

/// Evaluates a model at many points.
#[derive(Debug, Clone)]
pub struct BatchEvaluator<'a> {
    model: &'a Model,
    scratch: Scratch,
}

impl<'a> BatchEvaluator<'a> {
    pub fn new(model: &'a Model) -> Self {
        Self { model, scratch: Scratch::new(&model.layout) }
    }

    /// −log L of each data set at the point with the same index; `points` holds the points one after the
    /// other. Each value equals that of [`Model::nll`], to the last bit. The result never contains NaN: a
    /// point without a value is an error; of several, the first is reported.
    pub fn nll(&mut self, points: &[f64], data: &[Data]) -> Result<Vec<f64>, EvaluationError> {
        let blocks = self.each(points, data, |evaluator, point, nlls: &mut Vec<f64>| {
            nlls.push(evaluator.nll(point)?);
            Ok(())
        })?;
        Ok(blocks.concat())
    }

    /// The same with the gradients in the parameters, in the order of the points. A point where −log L is
    /// infinite is an error too.
    pub fn nll_and_gradient(
        &mut self,
        points: &[f64],
        data: &[Data],
    ) -> Result<(Vec<f64>, Vec<f64>), EvaluationError> {
        type Found = (Vec<f64>, Vec<f64>);
        let blocks = self.each(points, data, |evaluator, point, found: &mut Found| {
            let (nll, gradient) = evaluator.nll_and_gradient(point)?;
            found.0.push(nll);
            found.1.extend_from_slice(gradient);
            Ok(())
        })?;
        let (nlls, gradients): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        Ok((nlls.concat(), gradients.concat()))
    }

    /// The results of the points of each block.
    fn each<T: Default + Send>(
        &mut self,
        points: &[f64],
        data: &[Data],
        evaluate: impl Fn(&mut Evaluator<'_>, &[f64], &mut T) -> Result<(), EvaluationError> + Sync,
    ) -> Result<Vec<T>, EvaluationError> {
        let model = self.model;
        let count = model.parameter_count();
        let (got, expected) = (points.len(), count * data.len());
        if got != expected {
            return Err(EvaluationError::Length { what: "parameters", got, expected });
        }
        let block = |scratch: &mut Scratch, (points, data): (&[f64], &[Data])| {
            let memory = std::mem::take(scratch);
            let first = &data[0];
            let mut evaluator =
                Evaluator { model, data: first, softened: None, scratch: memory, curvature: None };
            let mut found = T::default();
            let ended = points.chunks_exact(count).zip(data).try_for_each(|(point, data)| {
                evaluator.data = data;
                evaluate(&mut evaluator, point, &mut found)
            });
            *scratch = evaluator.scratch;
            ended.map(|()| found)
        };
        if data.len() <= BLOCK {
            let blocks = points.chunks(count * BLOCK).zip(data.chunks(BLOCK));
            return blocks.map(|of| block(&mut self.scratch, of)).collect();
        }
        // All blocks are computed before an error is searched, so that the first one is reported.
        let blocks: Vec<Result<T, EvaluationError>> = points
            .par_chunks(count * BLOCK)
            .zip(data.par_chunks(BLOCK))
            .map_init(|| self.scratch.clone(), block)
            .collect();
        blocks.into_iter().collect()
    }
}
