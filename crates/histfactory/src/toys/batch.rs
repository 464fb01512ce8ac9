//! The likelihood of many points and data sets: blocks of them beside each other on threads, one
//! after the other within a block.
//!
//! A point fills the vectors of a processor by itself, see `docs/design/why-fits-are-newton.md`.

use rayon::prelude::*;

use crate::kernel::Scratch;
use crate::likelihood::Evaluator;
use crate::model::{Data, EvaluationError, Model};

/// Points that one thread evaluates in a row; fewer are not worth waking another.
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

    /// −log L of each data set at the point of the same number; `points` holds the points one
    /// after the other. Each is what [`Model::nll`] gives, to the last bit. NaN never comes out: a
    /// point without a value is an error, and of several the first is told.
    pub fn nll(&mut self, points: &[f64], data: &[Data]) -> Result<Vec<f64>, EvaluationError> {
        let model = self.model;
        let count = model.parameter_count();
        let (got, expected) = (points.len(), count * data.len());
        if got != expected {
            return Err(EvaluationError::Length { what: "parameters", got, expected });
        }
        if data.len() <= BLOCK {
            return block(model, &mut self.scratch, points, data);
        }
        let blocks: Vec<Result<Vec<f64>, EvaluationError>> = points
            .par_chunks(count * BLOCK)
            .zip(data.par_chunks(BLOCK))
            .map_init(
                || self.scratch.clone(),
                |scratch, (points, data)| block(model, scratch, points, data),
            )
            .collect();
        Ok(blocks.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}

fn block(
    model: &Model,
    scratch: &mut Scratch,
    points: &[f64],
    data: &[Data],
) -> Result<Vec<f64>, EvaluationError> {
    let Some(first) = data.first() else { return Ok(Vec::new()) };
    let memory = std::mem::take(scratch);
    let mut evaluator = Evaluator { model, data: first, scratch: memory, curvature: None };
    let pairs = points.chunks_exact(model.parameter_count()).zip(data);
    let found = pairs.map(|(point, data)| {
        evaluator.data = data;
        evaluator.nll(point)
    });
    let found = found.collect();
    *scratch = evaluator.scratch;
    found
}
