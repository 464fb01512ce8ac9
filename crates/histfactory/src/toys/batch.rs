//! The likelihood of many points and data sets at once: a vector lane for each.
//!
//! One pass over the model serves as many toys as a vector has lanes, so that its templates are
//! read once for all of them.

use crate::interpolation::exponential;
use crate::kernel::{Simd, WithSimd, dispatch, vectors, vectors_mut};
use crate::model::layout::LANES;
use crate::model::{Data, EvaluationError, Model};
use crate::special::poisson_deviance;

/// Evaluates a model at many points.
#[derive(Debug, Clone)]
pub struct BatchEvaluator<'a> {
    model: &'a Model,
    theta: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    factor: Vec<f64>,
    shape: Vec<f64>,
    rate: Vec<f64>,
}

impl<'a> BatchEvaluator<'a> {
    pub fn new(model: &'a Model) -> Self {
        let layout = &*model.layout;
        let lanes = |count: usize| vec![0.0; count * LANES];
        Self {
            model,
            theta: lanes(layout.names.len() + 1),
            x: lanes(layout.names.len() + 1),
            y: lanes(layout.names.len() + 1),
            factor: lanes(layout.normsys_parameter.len()),
            shape: lanes(layout.bins),
            rate: lanes(layout.bins),
        }
    }

    /// −log L of each data set at the point of the same number; `points` holds the points one
    /// after the other. NaN never comes out: a point without a value is an error.
    pub fn nll(&mut self, points: &[f64], data: &[Data]) -> Result<Vec<f64>, EvaluationError> {
        let count = self.model.parameter_count();
        let expected = count * data.len();
        if points.len() != expected {
            let got = points.len();
            return Err(EvaluationError::Length { what: "parameters", got, expected });
        }
        let mut results = Vec::with_capacity(data.len());
        let groups = points.chunks(count * LANES).zip(data.chunks(LANES));
        for (points, data) in groups {
            for (point, data) in points.chunks_exact(count).zip(data) {
                self.model.evaluator(data).check(point)?;
            }
            self.load(points, count, data.len());
            dispatch(Rates { batch: self });
            for (lane, (point, data)) in points.chunks_exact(count).zip(data).enumerate() {
                let nll = self.lane_nll(lane, point, data);
                results.push(if nll.is_nan() { self.model.nll(point, data)? } else { nll });
            }
        }
        Ok(results)
    }

    /// Parameters, bases and factors of a group; lanes without a point repeat the last.
    fn load(&mut self, points: &[f64], count: usize, used: usize) {
        let (layout, numbers) = (&*self.model.layout, &self.model.numbers);
        let interpolation = layout.options.interpolation;
        for lane in 0..LANES {
            let point = &points[lane.min(used - 1) * count..][..count];
            for (parameter, value) in point.iter().enumerate() {
                self.theta[parameter * LANES + lane] = *value;
            }
            for &parameter in &layout.histosys_parameters {
                let parameter = parameter as usize;
                let basis = interpolation.histosys.basis(point[parameter]);
                self.x[parameter * LANES + lane] = basis.x[0];
                self.y[parameter * LANES + lane] = basis.y[0];
            }
        }
        dispatch(Factors { batch: self });
        for lane in 0..LANES {
            let point = &points[lane.min(used - 1) * count..][..count];
            for (parameter, &alpha) in point.iter().enumerate() {
                if interpolation.normsys.is_polynomial(alpha) {
                    continue;
                }
                for &entry in layout.normsys_of.of(parameter) {
                    let entry = entry as usize;
                    let [value, ..] =
                        exponential(alpha, numbers.ln_hi[entry], numbers.ln_lo[entry]);
                    self.factor[entry * LANES + lane] = value;
                }
            }
        }
    }

    fn lane_nll(&self, lane: usize, point: &[f64], data: &Data) -> f64 {
        let (layout, numbers) = (&*self.model.layout, &self.model.numbers);
        let mut nll = data.constant + numbers.normal_constant;
        for (bin, n) in data.main().iter().enumerate() {
            nll += poisson_deviance(*n, self.rate[bin * LANES + lane]);
        }
        let auxiliary = &data.values[layout.bins..];
        for term in &numbers.normal {
            let distance = (point[term.parameter] - auxiliary[term.auxiliary]) * term.inverse_sigma;
            nll += 0.5 * distance * distance;
        }
        for term in &numbers.poisson {
            let rate = point[term.parameter] * term.factor;
            nll += poisson_deviance(auxiliary[term.auxiliary], rate);
        }
        nll
    }
}

/// Normsys factors, all as polynomials.
struct Factors<'a, 'b> {
    batch: &'a mut BatchEvaluator<'b>,
}

impl WithSimd for Factors<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (layout, numbers) = (&*self.batch.model.layout, &self.batch.model.numbers);
        let width = LANES / S::F64_LANES;
        let theta = vectors::<S>(&self.batch.theta);
        let factors = vectors_mut::<S>(&mut self.batch.factor);
        for (entry, &owner) in layout.normsys_parameter.iter().enumerate() {
            let [c1, c2, c3, c4, c5, c6] =
                numbers.coefficients(entry).map(|coefficient| simd.splat_f64s(coefficient));
            for part in 0..width {
                let alpha = theta[owner as usize * width + part];
                let mut value = simd.mul_add_e_f64s(c6, alpha, c5);
                for coefficient in [c4, c3, c2, c1, simd.splat_f64s(1.0)] {
                    value = simd.mul_add_e_f64s(value, alpha, coefficient);
                }
                factors[entry * width + part] = value;
            }
        }
    }
}

/// Rates of all bins.
struct Rates<'a, 'b> {
    batch: &'a mut BatchEvaluator<'b>,
}

impl WithSimd for Rates<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let batch = self.batch;
        let (layout, numbers) = (&*batch.model.layout, &batch.model.numbers);
        let width = LANES / S::F64_LANES;
        batch.rate.fill(0.0);
        let (theta, factors) = (vectors::<S>(&batch.theta), vectors::<S>(&batch.factor));
        let (x, y) = (vectors::<S>(&batch.x), vectors::<S>(&batch.y));
        let rates = vectors_mut::<S>(&mut batch.rate);
        let shapes = vectors_mut::<S>(&mut batch.shape);
        for block in &layout.blocks {
            let owners = &layout.histosys_parameter
                [block.histosys.start..block.histosys.start + block.histosys_used];
            for part in 0..width {
                let mut product = simd.splat_f64s(1.0);
                for &owner in &layout.free_factors[block.free_factors.clone()] {
                    product = simd.mul_f64s(product, theta[owner as usize * width + part]);
                }
                for entry in block.normsys.start..block.normsys.start + block.normsys_used {
                    product = simd.mul_f64s(product, factors[entry * width + part]);
                }
                for bin in 0..block.bin_count() {
                    let mut first = simd.splat_f64s(numbers.nominal[block.yields + bin]);
                    let mut second = simd.splat_f64s(0.0);
                    for (places, &owner) in block.templates_in_stream(bin).zip(owners) {
                        let place = owner as usize * width + part;
                        let [odd, even] = places.map(|at| simd.splat_f64s(numbers.stream[at]));
                        first = simd.mul_add_e_f64s(x[place], odd, first);
                        second = simd.mul_add_e_f64s(y[place], even, second);
                    }
                    shapes[bin * width + part] =
                        simd.mul_f64s(product, simd.add_f64s(first, second));
                }
                for which in 0..block.gamma_count {
                    for bin in 0..block.bin_count() {
                        let slot = block.gammas + which * block.bin_count() + bin;
                        let owner = layout.gamma_parameter[slot] as usize;
                        let shape = &mut shapes[bin * width + part];
                        *shape = simd.mul_f64s(*shape, theta[owner * width + part]);
                    }
                }
                for bin in 0..block.bin_count() {
                    let rate = &mut rates[(block.bins.start + bin) * width + part];
                    *rate = simd.add_f64s(*rate, shapes[bin * width + part]);
                }
            }
        }
    }
}
