//! Upper limits: the value of the parameter of interest at which CLs crosses a level.
//!
//! A band of the expected limit lies where √q_A(μ) reaches a number that the level determines, so all
//! bands are values of one inverse function. Each fit gives √q_A and, since −log L does not change
//! with the other parameters at a minimum, its slope ∂q_A/∂μ = 2 ∂NLL/∂μ: the inverse function is
//! interpolated by cubics between all fits so far. The observed limit is found by Newton's steps on
//! ln CLs within a bracket. Fits start where the nearest one ended. At the answer they are repeated from
//! the starts that [`Model::hypotest`] uses, and the lower minimum counts.

use super::InferenceError;
use super::hermite::{Node, interpolate};
use super::hypotest::{Alternative, BANDS, PValues, position};
use super::notes::{Fitted, Note, negative_background, of_fit};
use super::statistic::{Profile, TestKind, TestOptions};
use crate::fit::{DIFFERENT, Fit, Search};
use crate::model::{Data, Model};
use crate::special::{normal_quantile, normal_tail};

/// How a limit is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitOptions {
    pub kind: TestKind,
    /// One minus the confidence level.
    pub level: f64,
    /// Relative, of the limit.
    pub tolerance: f64,
    /// The search ends here.
    pub highest: f64,
    /// How fits look for the lowest of several minima.
    pub search: Search,
    /// Whether to raise the upper bound of the parameter of interest where the best fit is at it.
    pub extend_bound: bool,
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self {
            kind: TestKind::QTilde,
            level: 0.05,
            tolerance: 1e-8,
            highest: 1e9,
            search: Search::default(),
            extend_bound: false,
        }
    }
}

/// An upper limit on the parameter of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct UpperLimit {
    /// Infinite where CLs stays above the level, NaN where a fit failed: see `missing`.
    pub observed: f64,
    /// At T = 2, 1, 0, −1, −2: ascending, the median in the middle; like `observed` where there is none.
    pub expected: [f64; 5],
    pub level: f64,
    /// Every tested value with its observed and expected CLs, in ascending order.
    pub tested: Vec<Tested>,
    /// The limits that are not finite, with the reason of each.
    pub missing: Vec<MissingLimit>,
    /// Fits that were made.
    pub fits: usize,
    pub notes: Vec<Note>,
}

/// A value that was tested on the way to a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    pub mu: f64,
    /// Nothing where only the expected data were fitted.
    pub cls: Option<f64>,
    pub expected: [f64; 5],
}

/// A limit that there is none of.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingLimit {
    /// The band in standard deviations, −2 to 2; nothing for the observed limit.
    pub band: Option<f64>,
    pub why: WhyNoLimit,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyNoLimit {
    /// CLs levels off above the level.
    #[error("CLs of {data} stays above the level: it is {cls:.3} at {mu}")]
    LevelsOff { mu: f64, data: Fitted, cls: f64 },
    /// A fit failed.
    #[error("the fit to {data} at {mu} failed: {why}")]
    FitFailed { mu: f64, data: Fitted, why: String },
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Band(usize),
    Observed,
}

impl Target {
    /// The data that its CLs are computed on.
    fn data(self) -> Fitted {
        match self {
            Self::Band(_) => Fitted::Expected,
            Self::Observed => Fitted::Observed,
        }
    }
}

/// −log L along the parameter of interest.
struct Curve<'a> {
    profile: Profile<'a>,
    data: Fitted,
    /// −log L at the best fit, and the parameter of interest there.
    least: f64,
    best: f64,
    /// Where [`Model::hypotest`] starts.
    anchor: Vec<f64>,
    points: Vec<Point>,
}

#[derive(Debug, Clone)]
struct Point {
    mu: f64,
    fit: Fit,
}

/// Why a value could not be tested.
struct Failed {
    mu: f64,
    data: Fitted,
    why: InferenceError,
}

impl Curve<'_> {
    /// Keeps the lower one of a fit and of what is known there; whether that changed what was known.
    fn add(&mut self, mu: f64, fit: Fit) -> bool {
        let Some(point) = self.points.iter_mut().find(|point| point.mu == mu) else {
            self.points.push(Point { mu, fit });
            self.points.sort_by(|a, b| a.mu.total_cmp(&b.mu));
            return false;
        };
        let known = point.fit.nll;
        point.fit = point.fit.clone().or_lower(fit);
        (point.fit.nll - known).abs() > DIFFERENT
    }

    fn known(&self, mu: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.mu == mu)
    }

    /// Fits there, from the nearest fit.
    fn fit(&mut self, mu: f64) -> Result<(), Failed> {
        if self.known(mu).is_some() {
            return Ok(());
        }
        let distance = |point: &&Point| (point.mu - mu).abs();
        let nearest = self.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let start = nearest.map_or(&self.anchor, |point| &point.fit.theta).clone();
        self.profile.latest = Some(start);
        let fit = self.profile.at(mu).map_err(|why| Failed { mu, data: self.data, why })?;
        self.add(mu, fit);
        self.lower_best()
    }

    /// Fits there from the starts of a test and, where there may be several minima, from the nearest fit;
    /// whether that changed what was known.
    fn restart(&mut self, mu: f64) -> Result<bool, Failed> {
        let anchor = self.anchor.clone();
        let fit = match self.data {
            Fitted::Observed => {
                self.profile.latest = Some(anchor);
                self.profile.lowest_at(mu)
            }
            Fitted::Expected => self.profile.lowest_from(mu, &anchor, &anchor),
        };
        let fit = fit.map_err(|why| Failed { mu, data: self.data, why })?;
        if fit.may_have_others() || self.points.iter().any(|point| point.fit.may_have_others()) {
            self.fit(mu)?;
        }
        let changed = self.add(mu, fit);
        self.lower_best()?;
        Ok(changed)
    }

    /// A fit with a fixed value cannot be below the best one.
    fn lower_best(&mut self) -> Result<(), Failed> {
        let lowest = self.points.iter().min_by(|a, b| a.fit.nll.total_cmp(&b.fit.nll));
        let Some(lowest) = lowest.filter(|point| point.fit.nll < self.least - DIFFERENT) else {
            return Ok(());
        };
        let (mu, start) = (lowest.mu, lowest.fit.theta.clone());
        let fit = self.profile.free_from(&start);
        let fit = fit.map_err(|why| Failed { mu, data: self.data, why })?;
        (self.least, self.best) = (fit.nll, fit.theta[self.profile.poi]);
        Ok(())
    }

    /// The statistic at a value that was fitted, and its slope.
    fn q(&self, kind: TestKind, mu: f64) -> [f64; 2] {
        let Some(point) = self.known(mu) else { return [f64::NAN; 2] };
        let t = 2.0 * (point.fit.nll - self.least);
        if kind.one_sided(1.0, mu, self.best) == 0.0 || t <= 0.0 {
            return [0.0; 2];
        }
        [t, 2.0 * point.fit.gradient[self.profile.poi]]
    }

    fn notes(&self, mu: f64, notes: &mut Vec<Note>) {
        let Some(point) = self.known(mu) else { return };
        notes.extend(of_fit(&point.fit, self.data, Some(mu), self.profile.poi));
    }
}

/// A search for all limits.
struct Limits<'a> {
    kind: TestKind,
    level: f64,
    tolerance: f64,
    highest: f64,
    /// The width of the parameter of interest on the expected data, where it is zero.
    width: Option<f64>,
    /// Where the best fit would be without a bound at zero, from the slope there.
    drawn_to: f64,
    asimov: Curve<'a>,
    observed: Curve<'a>,
}

/// A step of this size, relative, is made without another fit: the one after it would be its square.
const CLOSE: f64 = 1e-5;
/// A value that is this near is tested as if it were the answer.
const NEAR: f64 = 3e-2;
/// Fits that an interpolation uses, and how far apart their √q_A must be.
const NODES: usize = 4;
const APART: f64 = 0.05;
/// No limit is guessed where √q_A is above this.
const MOST_GUESSED: f64 = 30.0;
const MOST_TRIALS: usize = 60;

impl Limits<'_> {
    fn fit(&mut self, target: Target, mu: f64) -> Result<(), Failed> {
        self.asimov.fit(mu)?;
        if target == Target::Observed { self.observed.fit(mu) } else { Ok(()) }
    }

    fn restart(&mut self, target: Target, mu: f64) -> Result<bool, Failed> {
        let mut changed = self.asimov.restart(mu)?;
        if target == Target::Observed {
            changed |= self.observed.restart(mu)?;
        }
        Ok(changed)
    }

    /// √q_A where the limit of a band is.
    fn root_of(&self, band: usize) -> f64 {
        normal_quantile(self.level * normal_tail(BANDS[band])) - BANDS[band]
    }

    /// Grows with μ, zero at the limit; and its slope.
    fn excess(&self, target: Target, mu: f64) -> [f64; 2] {
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

    /// Where all fits so far place a limit.
    fn guess(&self, target: Target) -> Option<f64> {
        let nodes = self.nodes();
        match target {
            Target::Band(band) => inverse(&nodes, self.root_of(band)),
            // Newton's steps are better once something was fitted.
            Target::Observed if self.observed.points.is_empty() => self.guess_observed(&nodes),
            Target::Observed => None,
        }
    }

    /// μ as a function of √q_A, from the fits so far and from the curvature at zero.
    fn nodes(&self) -> Vec<Node> {
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
    fn guess_observed(&self, nodes: &[Node]) -> Option<f64> {
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

    /// The limit, or why there is none.
    fn find(&mut self, target: Target, first: f64) -> Result<f64, WhyNoLimit> {
        let (mut low, mut high) = (0.0_f64, f64::INFINITY);
        // What is known already.
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
        // Between fits an interpolation is likely to be the answer.
        let mut is_near = high.is_finite() && target != Target::Observed;
        // Whether fits follow different minima as μ changes: then none is made without a restart, and
        // nothing is interpolated.
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
                    // Nearer to where fits succeed.
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
            // Where minima change places Newton's steps may go round in circles, and a cubic between very
            // different slopes creeps.
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
    fn excess_of_cls(&self, target: Target, mu: f64) -> f64 {
        let [q_asimov, _] = self.asimov.q(self.kind, mu);
        match target {
            Target::Band(band) => {
                let cls = PValues::new(self.kind, BANDS[band], q_asimov.sqrt()).cls;
                self.level.ln() - cls.max(1e-300).ln()
            }
            Target::Observed => self.excess(target, mu)[0],
        }
    }

    /// Whether, far beyond where a limit was expected, CLs would not come down to the level even with
    /// twice the slope in ln μ that it has there.
    fn levels_off(&self, target: Target, mu: f64, expected: f64) -> bool {
        let [excess, slope] = self.excess(target, mu);
        mu > 100.0 * expected && excess + 2.0 * slope * mu * (self.highest / mu).ln() < 0.0
    }

    /// A fit failed beyond all values that succeeded.
    fn why(&self, target: Target, low: f64, failed: Failed) -> WhyNoLimit {
        if low > 0.0 && self.levels_off(target, low, 0.0) {
            let cls = self.level * (-self.excess_of_cls(target, low)).exp();
            return WhyNoLimit::LevelsOff { mu: low, data: target.data(), cls };
        }
        let Failed { mu, data, why } = failed;
        WhyNoLimit::FitFailed { mu, data, why: why.to_string() }
    }

    fn tested(&self) -> Vec<Tested> {
        let of = |mu: f64| {
            let root = self.asimov.q(self.kind, mu)[0].sqrt();
            let cls = self.observed.known(mu).map(|_| {
                let t = position(self.kind, self.observed.q(self.kind, mu)[0], root * root);
                PValues::new(self.kind, t, root).cls
            });
            let expected = BANDS.map(|band| PValues::new(self.kind, band, root).cls);
            Tested { mu, cls, expected }
        };
        self.asimov.points.iter().map(|point| of(point.mu)).collect()
    }
}

/// μ where √q_A is `wanted`, from the nearest fits; nothing far outside of all of them.
fn inverse(nodes: &[Node], wanted: f64) -> Option<f64> {
    let mut sorted = nodes.to_vec();
    let distance = |node: &Node| (node.x - wanted).abs();
    sorted.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let first = *sorted.first()?;
    // Two that are close to each other have the same to say, and their difference is rounding.
    let mut nearest: Vec<Node> = Vec::new();
    for node in sorted {
        let is_apart = |other: &Node| (other.x - node.x).abs() > APART * (1.0 + wanted);
        if nearest.len() < NODES && nearest.iter().all(is_apart) {
            nearest.push(node);
        }
    }
    let found = interpolate(&nearest, wanted);
    // It grows, also between the nodes.
    let below = nodes.iter().filter(|node| node.x <= wanted).map(|node| node.y).fold(0.0, f64::max);
    let above = nodes.iter().filter(|node| node.x > wanted).map(|node| node.y);
    let above = above.fold(f64::INFINITY, f64::min);
    let line = first.y + first.slope * (wanted - first.x);
    let good = |mu: f64| mu > below && mu < above && mu < 3.0 * line.max(first.y);
    [found, line].into_iter().find(|mu| good(*mu))
}

/// φ(x)/Φ(−x).
fn hazard(x: f64) -> f64 {
    let tail = normal_tail(x);
    if tail < 1e-290 {
        return x.max(0.0);
    }
    (-0.5 * x * x).exp() / (std::f64::consts::TAU.sqrt() * tail)
}

impl Model {
    /// The upper limit on the parameter of interest, observed and expected.
    ///
    /// ```
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let limit = model.upper_limit(model.observed(), &Default::default())?;
    /// assert!((limit.observed - 1.0115).abs() < 1e-3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upper_limit(
        &self,
        data: &Data,
        options: &LimitOptions,
    ) -> Result<UpperLimit, InferenceError> {
        let &LimitOptions { kind, level, tolerance, highest, search, extend_bound } = options;
        if !(level > 0.0 && level < 1.0) {
            let what = "the level";
            return Err(InferenceError::OutOfRange { what, value: level, low: 0.0, high: 1.0 });
        }
        let test = TestOptions { search, extend_bound };
        let mut profile = kind.profile(self, data, &test)?;
        let (free, alternative) = Alternative::with_best_fit(self, &mut profile, 0.0)?;
        let poi = profile.poi;
        let mut notes = profile.take_notes();
        notes.extend(of_fit(&free, Fitted::Observed, None, poi));
        notes.extend(of_fit(&alternative.point, Fitted::Observed, Some(0.0), poi));
        notes.extend(negative_background(self, &free, poi)?);
        let mu_hat = free.theta[poi];
        let outwards = if mu_hat > 0.0 { 0.0 } else { free.gradient[poi] };
        let observed = Curve {
            profile,
            data: Fitted::Observed,
            least: free.nll,
            best: mu_hat,
            anchor: free.theta,
            points: Vec::new(),
        };
        let asimov = Curve {
            profile: kind.profile(self, &alternative.data, &test)?,
            data: Fitted::Expected,
            least: alternative.nll,
            best: 0.0,
            anchor: alternative.point.theta.clone(),
            points: Vec::new(),
        };
        let width = self.width_on_expected(&alternative, poi);
        let drawn_to = mu_hat - outwards * width.map_or(0.0, |width| width * width);
        let mut limits =
            Limits { kind, level, tolerance, highest, width, drawn_to, asimov, observed };
        let mut expected = [f64::NAN; 5];
        let mut missing = Vec::new();
        let mut settle = |band: Option<usize>, found: Result<f64, WhyNoLimit>| match found {
            Ok(limit) => limit,
            Err(why) => {
                let value = match why {
                    WhyNoLimit::LevelsOff { .. } => f64::INFINITY,
                    WhyNoLimit::FitFailed { .. } => f64::NAN,
                };
                missing.push(MissingLimit { band: band.map(|band| -BANDS[band]), why });
                value
            }
        };
        let first = width.map_or(mu_hat.abs().max(0.1), |width| width * limits.root_of(2));
        expected[2] = settle(Some(2), limits.find(Target::Band(2), first));
        let mut scale = if expected[2].is_finite() { expected[2] } else { first };
        for band in [4, 0, 3, 1] {
            let [this, median] = [limits.root_of(band), limits.root_of(2)];
            let first = scale * this / median;
            expected[band] = settle(Some(band), limits.find(Target::Band(band), first));
        }
        if mu_hat > 0.0 {
            scale += mu_hat;
        }
        let limit = settle(None, limits.find(Target::Observed, scale));
        if !limit.is_finite() && expected.iter().all(|limit| !limit.is_finite()) {
            return Err(limits.nothing(&missing));
        }
        for mu in expected.into_iter().chain([limit]).filter(|mu| mu.is_finite()) {
            let nearest = |curve: &Curve<'_>| {
                let points = curve.points.iter().map(|point| point.mu);
                points.min_by(|a, b| (a - mu).abs().total_cmp(&(b - mu).abs()))
            };
            for curve in [&limits.asimov, &limits.observed] {
                if let Some(at) = nearest(curve).filter(|at| (at - mu).abs() <= 2.0 * CLOSE * mu) {
                    curve.notes(at, &mut notes);
                }
            }
        }
        let tested = limits.tested();
        let fits = limits.observed.profile.fits + limits.asimov.profile.fits;
        Ok(UpperLimit { observed: limit, expected, level, tested, missing, fits, notes })
    }

    /// The width of the parameter of interest on the expected data.
    fn width_on_expected(&self, alternative: &Alternative, poi: usize) -> Option<f64> {
        let mut unit = vec![0.0; self.parameter_count()];
        unit[poi] = 1.0;
        let mut fit = alternative.point.clone();
        fit.free[poi] = true;
        let solved = self.solve(&fit.theta, &alternative.data, &fit, &unit).ok()?;
        Some(solved[poi].sqrt()).filter(|width| *width > 0.0 && width.is_finite())
    }
}

impl Limits<'_> {
    /// Not one limit was found.
    fn nothing(&self, missing: &[MissingLimit]) -> InferenceError {
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
