//! q₀ and its derivatives.

use super::follow::{Level, Point};
use super::input::Slots;
use super::stage::Stage;
use crate::inference::{Dataset, InferenceError};
use crate::model::Model;

/// q₀ with its two fits.
pub(super) struct Discovery<'a> {
    stage: Stage<'a>,
    pub(super) q0: f64,
    background: Point,
}

impl<'a> Discovery<'a> {
    pub(super) fn new(model: &'a Model, dataset: Dataset) -> Result<Self, InferenceError> {
        let mut stage = Stage::new(model, dataset, false)?;
        let background = stage.at(0.0, None)?;
        let t = stage.t(&background);
        let q0 = if stage.best()[stage.poi] < 0.0 { 0.0 } else { t };
        let background = Point::new(background, &stage.data);
        Ok(Self { stage, q0, background })
    }

    /// q₀ and its slopes; for a deficit these are zero.
    pub(super) fn slopes<R: Level>(
        &self,
        slots: &'a Slots,
        x: &[R],
    ) -> Result<(R, Vec<R>), InferenceError> {
        if self.q0 == 0.0 {
            return Ok((R::constant(0.0), vec![R::constant(0.0); x.len()]));
        }
        let scene = self.stage.scene(slots, x)?;
        let slopes = self.stage.test(&scene, &self.background, R::constant(0.0))?.inputs;
        Ok((R::combined(self.q0, &slopes, x), slopes))
    }
}
