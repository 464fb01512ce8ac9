//! The search for the value at which CLs, observed or of a band, crosses the level.

use super::super::InferenceError;
use super::super::hermite::{Node, interpolate};
use super::super::hypotest::{BANDS, PValues, position};
use super::super::statistic::TestKind;
use super::curve::{Curve, Failed, Target};
use super::{MissingLimit, Tested, WhyNoLimit};
use crate::special::{normal_quantile, normal_tail};

/// A search for all limits.
pub(super) struct Limits<'a> {
    pub(super) kind: TestKind,
    pub(super) level: f64,
    pub(super) tolerance: f64,
    pub(super) highest: f64,
    /// The width of the parameter of interest on the expected data, where it is zero.
    pub(super) width: Option<f64>,
    /// The position of the best fit without a bound at zero, estimated from the slope there.
    pub(super) drawn_to: f64,
    pub(super) asimov: Curve<'a>,
    pub(super) observed: Curve<'a>,
}

/// A relative step of this size needs no further fit: the next one would be its square.
pub(super) const CLOSE: f64 = 1e-5;
/// A value this near is tested like the final value.
pub(super) const NEAR: f64 = 3e-2;
/// The number of fits that an interpolation uses, and the smallest distance of their √q_A.
pub(super) const NODES: usize = 4;
pub(super) const APART: f64 = 0.05;
/// No limit is estimated where √q_A is above this.
pub(super) const MOST_GUESSED: f64 = 30.0;
pub(super) const MOST_TRIALS: usize = 60;

impl Limits<'_> {
    pub(super) fn fit(&mut self, target: Target, mu: f64) -> Result<(), Failed> {
        self.asimov.fit(mu)?;
        if target == Target::Observed { self.observed.fit(mu) } else { Ok(()) }
    }

    pub(super) fn restart(&mut self, target: Target, mu: f64) -> Result<bool, Failed> {
        let mut changed = self.asimov.restart(mu)?;
        if target == Target::Observed {
            changed |= self.observed.restart(mu)?;
        }
        Ok(changed)
    }

    /// √q_A at the limit of a band.
    pub(super) fn root_of(&self, band: usize) -> f64 {
        normal_quantile(self.level * normal_tail(BANDS[band])) - BANDS[band]
    }

    /// A function that grows with μ and is zero at the limit, with its slope.
    pub(super) fn excess(&self, target: Target, mu: f64) -> [f64; 2] {
        let [q_asimov, slope] = self.asimov.q(self.kind, mu);
        let root = q_asimov.sqrt();
        let of_root = if root > 0.0 { slope / (2.0 * root) } else { f64::NAN };
        match target {
            Target::Band(band) => [root - self.root_of(band), of_root],
            Target::Observed => {
                let [q, of_q] = self.observed.q(self.kind, mu);
                let t = position(self.kind, q, q_asimov);
                let cls = PValues::new(self.kind, t, root).cls.max(1e-300);
                let of_t = if self.kind == TestKind::QTilde && q > q_asimov {
                    (of_q - slope) / (2.0 * root) - t / root * of_root
                } else if q > 0.0 {
                    of_q / (2.0 * q.sqrt()) - of_root
                } else {
                    -of_root
                };
                let slope = hazard(t + root) * (of_t + of_root) - hazard(t) * of_t;
                [self.level.ln() - cls.ln(), slope]
            }
        }
    }

    /// The estimate of a limit from all fits so far.
    pub(super) fn guess(&self, target: Target) -> Option<f64> {
        let nodes = self.nodes();
        match target {
            Target::Band(band) => inverse(&nodes, self.root_of(band)),
            // Newton steps are better once there is a fit.
            Target::Observed if self.observed.points.is_empty() => self.guess_observed(&nodes),
            Target::Observed => None,
        }
    }

    /// μ as a function of √q_A, from the fits so far and from the curvature at zero.
    pub(super) fn nodes(&self) -> Vec<Node> {
        let origin = self.width.map(|slope| Node { x: 0.0, y: 0.0, slope });
        let fitted = self.asimov.points.iter().filter_map(|point| {
            let [q, slope] = self.asimov.q(self.kind, point.mu);
            let x = q.sqrt();
            let node = Node { x, y: point.mu, slope: 2.0 * x / slope };
            (x > 0.0 && slope > 0.0).then_some(node)
        });
        let mut nodes: Vec<Node> = origin.into_iter().chain(fitted).collect();
        nodes.sort_by(|a, b| a.x.total_cmp(&b.x));
        nodes
    }

    /// The observed limit if −log L were a parabola, as wide as that of the expected data.
    pub(super) fn guess_observed(&self, nodes: &[Node]) -> Option<f64> {
        let excess = |root: f64| {
            let mu = inverse(nodes, root)?;
            let q = match self.drawn_to {
                // Below zero only the slope at zero counts.
                to if to < 0.0 => root * root * (1.0 - 2.0 * to / mu),
                to => ((1.0 - to / mu).max(0.0) * root).powi(2),
            };
            let t = position(self.kind, q, root * root);
            let cls = PValues::new(self.kind, t, root).cls;
            Some((mu, self.level.ln() - cls.max(1e-300).ln()))
        };
        let (mut low, mut high) = (0.0, self.root_of(2));
        while excess(high)?.1 < 0.0 {
            (low, high) = (high, 1.5 * high);
            if high > MOST_GUESSED {
                return None;
            }
        }
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            if excess(middle)?.1 < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(excess(high)?.0)
    }

    /// The limit, or the reason for its absence.
    pub(super) fn find(&mut self, target: Target, first: f64) -> Result<f64, WhyNoLimit> {
        let (mut low, mut high) = (0.0_f64, f64::INFINITY);
        // The known fits.
        for point in &self.asimov.points {
            let is_known = target != Target::Observed || self.observed.known(point.mu).is_some();
            if is_known && point.mu > 0.0 {
                let [excess, _] = self.excess(target, point.mu);
                if excess < 0.0 {
                    low = low.max(point.mu);
                } else {
                    high = high.min(point.mu);
                }
            }
        }
        if low >= high {
            (low, high) = (0.0, f64::INFINITY);
        }
        let inside = |mu: f64, low: f64, high: f64| mu > low && mu < high;
        let mut mu = self.guess(target).unwrap_or(first);
        if !inside(mu, low, high) {
            mu = if high.is_finite() { f64::midpoint(low, high) } else { 1.5 * low };
        }
        let mut failures = 0;
        let mut last_excess = f64::INFINITY;
        // Between fits the interpolated value is probably the answer.
        let mut is_near = high.is_finite() && target != Target::Observed;
        // Whether fits follow different minima as μ changes: then each fit is restarted, and nothing is
        // interpolated.
        let mut several = false;
        for trial in 0..MOST_TRIALS {
            let tested = if is_near || several {
                self.restart(target, mu)
            } else {
                self.fit(target, mu).map(|()| false)
            };
            let changed = match tested {
                Ok(changed) => changed,
                Err(failed) => {
                    failures += 1;
                    if failures > 4 {
                        return Err(self.why(target, low, failed));
                    }
                    // Moves towards values where fits succeed.
                    mu = if low > 0.0 { (low * mu).sqrt() } else { 0.3 * mu };
                    is_near = false;
                    continue;
                }
            };
            if changed && !several {
                several = true;
                (low, high) = (0.0, f64::INFINITY);
            }
            let [excess, slope] = self.excess(target, mu);
            if excess < 0.0 {
                low = mu;
            } else {
                high = mu;
            }
            let step = -excess / slope;
            let next = mu + step;
            let good = slope > 0.0 && step.is_finite();
            if good && (is_near || several) && step.abs() <= CLOSE.max(self.tolerance) * mu {
                return Ok(if step.abs() <= self.tolerance * 1e-3 * mu { mu } else { next });
            }
            if high.is_finite() && high - low <= 4.0 * f64::EPSILON * high {
                return Ok(mu);
            }
            let newton = if good && inside(next, low, high) { Some(next) } else { None };
            let before = mu;
            let guess = self.guess(target).filter(|guess| inside(*guess, low, high) && !several);
            // Where minima change places, Newton steps may cycle, and a cubic between very different slopes
            // converges slowly.
            let is_slow = excess.abs() > 0.5 * last_excess;
            let bisects = trial % 3 == 2 && (several || (is_slow && high - low > 0.1 * high));
            last_excess = excess.abs();
            mu = match guess.or(newton) {
                Some(next) if !(bisects && high.is_finite()) => next.min(4.0 * mu),
                Some(_) | None if high.is_finite() => f64::midpoint(low, high),
                Some(_) | None => 3.0 * mu,
            };
            is_near = (mu - before).abs() <= NEAR * mu;
            if mu > self.highest || (high.is_infinite() && self.levels_off(target, before, first)) {
                let cls = self.level * (-self.excess_of_cls(target, before)).exp();
                return Err(WhyNoLimit::LevelsOff { mu: before, data: target.data(), cls });
            }
        }
        Ok(mu)
    }

    /// ln(level/CLs).
    pub(super) fn excess_of_cls(&self, target: Target, mu: f64) -> f64 {
        let [q_asimov, _] = self.asimov.q(self.kind, mu);
        match target {
            Target::Band(band) => {
                let cls = PValues::new(self.kind, BANDS[band], q_asimov.sqrt()).cls;
                self.level.ln() - cls.max(1e-300).ln()
            }
            Target::Observed => self.excess(target, mu)[0],
        }
    }

    /// Whether CLs, far beyond the expected limit, would not reach the level even with twice its present
    /// slope in ln μ.
    pub(super) fn levels_off(&self, target: Target, mu: f64, expected: f64) -> bool {
        let [excess, slope] = self.excess(target, mu);
        mu > 100.0 * expected && excess + 2.0 * slope * mu * (self.highest / mu).ln() < 0.0
    }

    /// A fit failed beyond all values that succeeded.
    pub(super) fn why(&self, target: Target, low: f64, failed: Failed) -> WhyNoLimit {
        if low > 0.0 && self.levels_off(target, low, 0.0) {
            let cls = self.level * (-self.excess_of_cls(target, low)).exp();
            return WhyNoLimit::LevelsOff { mu: low, data: target.data(), cls };
        }
        let Failed { mu, data, why } = failed;
        WhyNoLimit::FitFailed { mu, data, why: why.to_string() }
    }

    pub(super) fn tested(&self) -> Vec<Tested> {
        let tested = |mu: f64| {
            let root = self.asimov.q(self.kind, mu)[0].sqrt();
            let cls = self.observed.known(mu).map(|_| {
                let t = position(self.kind, self.observed.q(self.kind, mu)[0], root * root);
                PValues::new(self.kind, t, root).cls
            });
            let expected = BANDS.map(|band| PValues::new(self.kind, band, root).cls);
            Tested { mu, cls, expected }
        };
        self.asimov.points.iter().map(|point| tested(point.mu)).collect()
    }
}

/// μ where √q_A is `wanted`, from the nearest fits; `None` far outside of all of them.
pub(super) fn inverse(nodes: &[Node], wanted: f64) -> Option<f64> {
    let mut sorted = nodes.to_vec();
    let distance = |node: &Node| (node.x - wanted).abs();
    sorted.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let first = *sorted.first()?;
    // Two nodes close to each other add nothing, and their difference is rounding.
    let mut nearest: Vec<Node> = Vec::new();
    for node in sorted {
        let is_apart = |other: &Node| (other.x - node.x).abs() > APART * (1.0 + wanted);
        if nearest.len() < NODES && nearest.iter().all(is_apart) {
            nearest.push(node);
        }
    }
    let found = interpolate(&nearest, wanted);
    // The function is monotonic, also between the nodes.
    let below = nodes.iter().filter(|node| node.x <= wanted).map(|node| node.y).fold(0.0, f64::max);
    let above = nodes.iter().filter(|node| node.x > wanted).map(|node| node.y);
    let above = above.fold(f64::INFINITY, f64::min);
    let line = first.y + first.slope * (wanted - first.x);
    let good = |mu: f64| mu > below && mu < above && mu < 3.0 * line.max(first.y);
    [found, line].into_iter().find(|mu| good(*mu))
}

/// φ(x)/Φ(−x).
pub(super) fn hazard(x: f64) -> f64 {
    let tail = normal_tail(x);
    if tail < 1e-290 {
        return x.max(0.0);
    }
    (-0.5 * x * x).exp() / (std::f64::consts::TAU.sqrt() * tail)
}

impl Limits<'_> {
    /// The error if every limit is missing.
    pub(super) fn nothing(&self, missing: &[MissingLimit]) -> InferenceError {
        let failed = missing.iter().find_map(|missing| match &missing.why {
            WhyNoLimit::FitFailed { .. } => Some(missing.why.to_string()),
            WhyNoLimit::LevelsOff { .. } => None,
        });
        match failed {
            Some(why) => InferenceError::NoLimitFound { why },
            None => InferenceError::NoLimit { highest: self.highest, level: self.level },
        }
    }
}
