//! Discovery significance, and its derivatives in every yield.
//!
//! q₀ = 2[NLL(θ̂̂₀) − NLL(θ̂)]. At a minimum the change of the parameters has no effect to first order, also
//! if bounds hold them, so dq₀/dy = 2[∂_y NLL(θ̂̂₀) − ∂_y NLL(θ̂)]. On Asimov data the counts are themselves
//! the rates at θ_A, which is the best fit: their change adds 2[ln n − ln ν(θ̂̂₀)]·∂n/∂y and one fit is
//! enough. If θ_A was profiled to observed data, its own change dθ_A/dy = −H⁻¹ ∂²NLL/∂θ∂y is added through
//! one solve with H.
//!
//! Fits leave a residual gradient g; the parameters are off by H⁻¹g and the gradient by its rate of change
//! along that. The error bound is computed from these.

use super::InferenceError;
use super::hypotest::Alternative;
use super::notes::{Fitted, Note, of_fit};
use super::statistic::{Profile, TestKind, TestOptions};
use crate::derivative::{Convention, Following, Loose, WorkspaceGradient, observed_share};
use crate::fit::{Fit, System};
use crate::kernel::{Curvature, Information};
use crate::model::{Constraint, Data, Model};
use crate::special::normal_tail;

/// The data for a significance.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Dataset {
    /// The observed data of the model.
    Observed,
    /// The expected data at the initial values with the parameter of interest at `mu`, without using the
    /// observed data.
    Asimov { mu: f64 },
    /// The expected data after a fit to the observed data with the parameter of interest at `mu`.
    ProfiledAsimov { mu: f64 },
}

impl Default for Dataset {
    fn default() -> Self {
        Self::Asimov { mu: 1.0 }
    }
}

/// The significance of an excess.
#[derive(Debug, Clone, PartialEq)]
pub struct Significance {
    pub dataset: Dataset,
    pub q0: f64,
    /// 2[NLL(0) − NLL(μ̂)], also for a deficit.
    pub t0: f64,
    pub mu_hat: f64,
    /// √q₀.
    pub z: f64,
    pub p0: f64,
    /// At the best fit and at μ = 0.
    pub theta_free: Vec<f64>,
    pub theta_background: Vec<f64>,
    /// The larger projected gradient of the fits.
    pub kkt: f64,
    pub gradient: Option<SignificanceGradient>,
    pub notes: Vec<Note>,
}

/// Derivatives of q₀ in every number of the workspace; observed auxiliary counts follow theirs.
#[derive(Debug, Clone)]
pub struct SignificanceGradient {
    pub q0: WorkspaceGradient,
    /// An upper limit, to first order, on the error of any component because the fits stopped early.
    pub error: f64,
}

impl PartialEq for SignificanceGradient {
    fn eq(&self, other: &Self) -> bool {
        self.error == other.error && self.q0.yields() == other.q0.yields()
    }
}

impl SignificanceGradient {
    /// Derivatives of √q₀, if q₀ is not zero.
    pub fn z(&self, q0: f64) -> Option<WorkspaceGradient> {
        (q0 > 0.0).then(|| self.q0.clone().scaled(0.5 / q0.sqrt()))
    }
}

impl Model {
    /// The discovery significance.
    ///
    /// ```
    /// use histfactory::inference::Dataset;
    /// # let workspace = histfactory::Workspace::from_slice(include_bytes!("../../tests/data/two_bins.json"))?;
    /// # let model = histfactory::Model::new(&workspace, &Default::default())?;
    /// let expected = model.significance(Dataset::Asimov { mu: 1.0 })?;
    /// assert!(expected.z > 1.0 && expected.p0 < 0.16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn significance(&self, dataset: Dataset) -> Result<Significance, InferenceError> {
        self.discovery(dataset, None, &TestOptions::default())
    }

    /// The same with other fit settings.
    pub fn significance_with(
        &self,
        dataset: Dataset,
        options: &TestOptions,
    ) -> Result<Significance, InferenceError> {
        self.discovery(dataset, None, options)
    }

    /// The discovery significance and its derivatives.
    pub fn significance_with_gradient(
        &self,
        dataset: Dataset,
        convention: Convention,
    ) -> Result<Significance, InferenceError> {
        self.discovery(dataset, Some(convention), &TestOptions::default())
    }

    fn discovery(
        &self,
        dataset: Dataset,
        convention: Option<Convention>,
        options: &TestOptions,
    ) -> Result<Significance, InferenceError> {
        match dataset {
            Dataset::Observed => self.on_observed(convention, options),
            Dataset::Asimov { mu } => {
                let poi = self.needed_poi()?;
                let mut theta = self.init().to_vec();
                theta[poi] = mu;
                let data = self.asimov(&theta)?;
                let found = self.on_asimov(dataset, &theta, &data, convention, options)?;
                Ok(found.0)
            }
            Dataset::ProfiledAsimov { mu } => self.on_profiled(mu, convention, options),
        }
    }

    fn on_observed(
        &self,
        convention: Option<Convention>,
        options: &TestOptions,
    ) -> Result<Significance, InferenceError> {
        let data = self.observed();
        let test = self.test_statistic_with(data, TestKind::Q0, 0.0, options)?;
        let gradient = convention.map(|convention| {
            let loose = |fit: &Fit| Loose::of_nll(self, &fit.theta, &data.values, convention);
            let difference = loose(&test.conditional).twice_minus(&loose(&test.free));
            let whole = difference.following(self, observed_share(self));
            let q0 = whole.settle(self, |value| value);
            let residuals = [&test.conditional, &test.free];
            let error = self.gradient_error(data, &residuals, convention, q0.largest())?;
            // A deficit has q₀ = 0 and keeps it.
            let scale = if test.value > 0.0 { 1.0 } else { 0.0 };
            Ok::<_, InferenceError>(SignificanceGradient { q0: q0.scaled(scale), error })
        });
        Ok(Significance {
            dataset: Dataset::Observed,
            q0: test.value,
            t0: test.t,
            mu_hat: test.mu_hat,
            z: test.value.sqrt(),
            p0: normal_tail(test.value.sqrt()),
            kkt: test.free.kkt.max(test.conditional.kkt),
            theta_free: test.free.theta,
            theta_background: test.conditional.theta,
            gradient: gradient.transpose()?,
            notes: test.notes,
        })
    }

    /// Computes on the data expected at `theta`; also returns the fit at μ = 0.
    fn on_asimov(
        &self,
        dataset: Dataset,
        theta: &[f64],
        data: &Data,
        convention: Option<Convention>,
        options: &TestOptions,
    ) -> Result<(Significance, Fit), InferenceError> {
        let poi = self.needed_poi()?;
        let background = Profile::new(self, data)?.with(options).lowest_from(0.0, theta, theta)?;
        let t0 = (2.0 * (background.nll - self.nll(theta, data)?)).max(0.0);
        let q0 = TestKind::Q0.one_sided(t0, 0.0, theta[poi]);
        let gradient = convention.map(|convention| {
            let loose = |theta: &[f64]| Loose::of_nll(self, theta, &data.values, convention);
            let difference = loose(&background.theta).twice_minus(&loose(theta));
            let whole = difference
                .following(self, |index| theta[self.layout.shapesys[index].parameter])
                .with_expected_counts(self, theta);
            let gradient = whole.settle(self, |value| value);
            let error =
                self.gradient_error(data, &[&background], convention, gradient.largest())?;
            let scale = if q0 > 0.0 { 1.0 } else { 0.0 };
            Ok::<_, InferenceError>(SignificanceGradient { q0: gradient.scaled(scale), error })
        });
        let found = Significance {
            dataset,
            q0,
            t0,
            mu_hat: theta[poi],
            z: q0.sqrt(),
            p0: normal_tail(q0.sqrt()),
            kkt: background.kkt,
            theta_free: theta.to_vec(),
            theta_background: background.theta.clone(),
            gradient: gradient.transpose()?,
            notes: of_fit(&background, Fitted::Expected, Some(0.0), poi),
        };
        Ok((found, background))
    }

    fn on_profiled(
        &self,
        mu: f64,
        convention: Option<Convention>,
        options: &TestOptions,
    ) -> Result<Significance, InferenceError> {
        let poi = self.needed_poi()?;
        let observed = self.observed();
        let mut profile = Profile::new(self, observed)?.with(options);
        let alternative = Alternative::new(self, &mut profile, mu)?;
        let (theta, data) = (&alternative.point.theta, &alternative.data);
        let dataset = Dataset::ProfiledAsimov { mu };
        let (mut found, background) = self.on_asimov(dataset, theta, data, convention, options)?;
        let (Some(gradient), Some(convention)) = (&mut found.gradient, convention) else {
            return Ok(found);
        };
        if found.q0 == 0.0 {
            return Ok(found);
        }
        // dq₀/dθ_A at fixed yields, then −λ ∂²NLL/∂θ∂y with Hλ = dq₀/dθ_A.
        let mut pull = self.asimov_pull(theta, data, &background.theta)?;
        pull[poi] = 0.0;
        let held = &alternative.point;
        let lambda = self.solve(&held.theta, observed, held, &pull)?;
        let along = self.workspace_gradient_along(
            theta,
            &lambda,
            observed,
            convention,
            Following::Auxiliary,
        )?;
        gradient.q0.add_scaled(-1.0, &along);
        gradient.error += self.gradient_error(observed, &[held], convention, along.largest())?;
        Ok(found)
    }

    /// The derivative of q₀ on the data expected at `theta`, with respect to `theta`.
    fn asimov_pull(
        &self,
        theta: &[f64],
        data: &Data,
        background: &[f64],
    ) -> Result<Vec<f64>, InferenceError> {
        let rates = self.expected_main(background)?;
        let counts = data.main();
        // Σ u_b ∂ν_b is the gradient of a likelihood whose weights are u: its data are n(1 − u).
        let mut evaluator = self.evaluator(data);
        evaluator.nll_and_gradient(theta)?;
        let mut curvature = Curvature::new(&self.layout);
        evaluator.collect(&mut curvature, Information::Fisher);
        let mut pull = vec![0.0; theta.len()];
        let elimination = &self.layout.elimination;
        for (bin, front, row) in curvature.rows(&self.layout) {
            if counts[bin] <= 0.0 {
                continue;
            }
            let u = 2.0 * (counts[bin].ln() - rates[bin].ln());
            for (&parameter, slope) in front.parameters.iter().zip(row) {
                pull[parameter as usize] += u * slope;
            }
            for local in elimination.local_of_bin[bin].clone() {
                pull[elimination.local[local] as usize] += u * curvature.slope[local];
            }
        }
        for (parameter, constraint) in self.numbers.constraints.iter().enumerate() {
            pull[parameter] += match *constraint {
                Constraint::Free => 0.0,
                Constraint::Normal { sigma, .. } => {
                    2.0 * (theta[parameter] - background[parameter]) / (sigma * sigma)
                }
                Constraint::Poisson { factor, .. } => {
                    2.0 * factor * (theta[parameter].ln() - background[parameter].ln())
                }
            };
        }
        Ok(pull)
    }

    /// H⁻¹ times a vector over the parameters that were free and not held in a fit.
    pub(crate) fn solve(
        &self,
        theta: &[f64],
        data: &Data,
        fit: &Fit,
        vector: &[f64],
    ) -> Result<Vec<f64>, InferenceError> {
        let mut evaluator = self.evaluator(data);
        evaluator.nll_and_gradient(theta)?;
        let mut curvature = Curvature::new(&self.layout);
        evaluator.collect(&mut curvature, Information::Exact);
        let moving = fit.moving();
        let mut system = System::new(&self.layout);
        if !system.factorise(&self.layout, &curvature, &moving, 0.0) {
            let parameter = "every parameter".to_owned();
            return Err(InferenceError::NoUncertainty { parameter });
        }
        let mut solution = vector.to_vec();
        system.solve(&self.layout, &curvature, &moving, &mut solution);
        Ok(solution)
    }

    /// The error that the residual gradients of fits can cause in the derivatives of q₀.
    fn gradient_error(
        &self,
        data: &Data,
        fits: &[&Fit],
        convention: Convention,
        size: f64,
    ) -> Result<f64, InferenceError> {
        let mut error = 0.0;
        for fit in fits {
            let distance = self.solve(&fit.theta, data, fit, &fit.gradient)?;
            let along = self.workspace_gradient_along(
                &fit.theta,
                &distance,
                data,
                convention,
                Following::Nothing,
            )?;
            error += 2.0 * along.largest();
        }
        // Doubled for terms of higher order, plus the rounding of the derivatives themselves.
        Ok(2.0 * error + 64.0 * f64::EPSILON * size)
    }
}
