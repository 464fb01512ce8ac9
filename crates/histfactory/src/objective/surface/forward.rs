//! Rates, and the intermediate values that the backward pass needs.

use super::Surface;
use crate::interpolation::HistosysCode;
use crate::model::Model;
use crate::model::layout::Block;
use crate::objective::number::Number;

/// Rates and the quantities they are computed from.
pub(super) struct Forward<R> {
    /// x, x′, y and y′ of each histosys parameter.
    pub(super) basis: Vec<[R; 4]>,
    /// Value and slope of each normsys factor.
    pub(super) factor: Vec<[R; 2]>,
    pub(super) product: Vec<R>,
    pub(super) shape: Vec<R>,
    pub(super) gamma: Vec<R>,
    pub(super) rate: Vec<R>,
}

impl<R: Number> Forward<R> {
    pub(super) fn new(surface: &Surface<'_, R>, theta: &[R]) -> Self {
        let layout = &*surface.model.layout;
        let code = layout.options.interpolation.histosys;
        let (zero, one) = (R::constant(0.0), R::constant(1.0));
        let mut basis = vec![[zero; 4]; theta.len() + 1];
        for &parameter in &layout.histosys_parameters {
            basis[parameter as usize] = histosys(code, theta[parameter as usize]);
        }
        let mut factor = vec![[one, zero]; layout.normsys_parameter.len()];
        for (entry, &parameter) in layout.normsys_parameter.iter().enumerate() {
            if let Some(&alpha) = theta.get(parameter as usize) {
                factor[entry] = normsys(surface.model, entry, alpha);
            }
        }
        let mut forward = Self {
            basis,
            factor,
            product: Vec::with_capacity(layout.blocks.len()),
            shape: surface.nominal.clone(),
            gamma: vec![one; layout.yields],
            rate: vec![zero; layout.bins],
        };
        for block in &layout.blocks {
            forward.add(surface, block, theta);
        }
        forward
    }

    pub(super) fn add(&mut self, surface: &Surface<'_, R>, block: &Block, theta: &[R]) {
        let layout = &*surface.model.layout;
        let mut product = R::constant(1.0);
        for &owner in &layout.free_factors[block.free_factors.clone()] {
            product = product * theta[owner as usize];
        }
        for [value, _] in &self.factor[block.normsys.clone()] {
            product = product * *value;
        }
        let owners = owners(surface.model, block);
        for bin in 0..block.bin_count() {
            let place = block.yields + bin;
            let start = block.templates + bin * block.stride();
            for (entry, &owner) in owners.iter().enumerate() {
                let [x, _, y, _] = self.basis[owner as usize];
                self.shape[place] +=
                    x * surface.odd[start + entry] + y * surface.even[start + entry];
            }
            for which in 0..block.gamma_count {
                let owner = gamma_owner(surface.model, block, which, bin);
                self.gamma[place] = self.gamma[place] * theta[owner];
            }
            self.rate[block.bins.start + bin] += product * self.gamma[place] * self.shape[place];
        }
        self.product.push(product);
    }
}

pub(super) fn owners<'a>(model: &'a Model, block: &Block) -> &'a [u32] {
    &model.layout.histosys_parameter[block.histosys.start..][..block.histosys_used]
}

pub(super) fn gamma_owner(model: &Model, block: &Block, which: usize, bin: usize) -> usize {
    model.layout.gamma_parameter[block.gammas + which * block.bin_count() + bin] as usize
}

/// x, x′, y, y′.
pub(super) fn histosys<R: Number>(code: HistosysCode, alpha: R) -> [R; 4] {
    let value = alpha.value();
    let sign = if value > 0.0 { 1.0 } else { -1.0 };
    let (zero, one) = (R::constant(0.0), R::constant(1.0));
    let line =
        |slope: f64, at_zero: f64| [alpha.scaled(slope) + R::constant(at_zero), R::constant(slope)];
    let inside = value * value <= 1.0;
    let [y, y_slope] = match code {
        HistosysCode::Code0 => line(8.0 * sign, 0.0),
        HistosysCode::Code4p if !inside => line(8.0 * sign, 0.0),
        HistosysCode::Code4p => {
            let square = alpha.square();
            let inner = R::constant(15.0) + square * (square.scaled(3.0) - R::constant(10.0));
            let slope = R::constant(30.0) + square * (square.scaled(18.0) - R::constant(40.0));
            [square * inner, alpha * slope]
        }
        HistosysCode::Code2 | HistosysCode::Code2Documented | HistosysCode::Code2Root if inside => {
            [alpha.square().scaled(8.0), alpha.scaled(16.0)]
        }
        HistosysCode::Code2 if value < 0.0 => line(-16.0, 0.0),
        HistosysCode::Code2 | HistosysCode::Code2Documented => line(16.0 * sign, -16.0),
        HistosysCode::Code2Root => line(16.0 * sign, -8.0),
    };
    let jumps = match code {
        HistosysCode::Code2 => !inside && value > 0.0,
        HistosysCode::Code2Documented => !inside,
        HistosysCode::Code0 | HistosysCode::Code2Root | HistosysCode::Code4p => false,
    };
    let x = if jumps { alpha - R::constant(sign) } else { alpha + zero };
    [x, one, y, y_slope]
}

/// A factor and its slope.
pub(super) fn normsys<R: Number>(model: &Model, entry: usize, alpha: R) -> [R; 2] {
    let numbers = &model.numbers;
    if model.layout.options.interpolation.normsys.is_polynomial(alpha.value()) {
        let (mut value, mut slope) = (R::constant(0.0), R::constant(0.0));
        for power in numbers.coefficients(&model.layout, entry).into_iter().rev() {
            slope = slope * alpha + value;
            value = value * alpha + R::constant(power);
        }
        // The loop result lacks one power of α.
        return [R::constant(1.0) + value * alpha, slope * alpha + value];
    }
    let slope = if alpha.value() > 0.0 { numbers.ln_hi[entry] } else { -numbers.ln_lo[entry] };
    let value = alpha.scaled(slope).exp();
    [value, value.scaled(slope)]
}
