//! Options of a fit.

/// Settings of a fit; the defaults are those of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOptions {
    /// Parameters held at a value, by index, beside those that the model fixes.
    pub fixed: Vec<(usize, f64)>,
    /// Where to start; the model's initial values by default.
    pub start: Option<Vec<f64>>,
    /// Bounds of single parameters in place of the model's.
    pub bounds: Vec<(usize, [f64; 2])>,
    /// The projected gradient's largest component must fall below this.
    pub tolerance: f64,
    pub max_iterations: usize,
    /// Whether to invert the Hessian at the minimum.
    pub covariance: bool,
    /// The search for minima below the nearest one.
    pub search: Search,
}

/// How a fit looks for the lowest of several minima.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Search {
    /// Takes the minimum that its start leads to.
    Descent,
    /// Repeats the fit from the mirror images of parameters that may have a minimum on both sides of zero.
    /// Costs one more evaluation if there are none.
    #[default]
    Mirrored,
    /// The same with every parameter that is pulled, and from this many random starts.
    Global { starts: usize, seed: u64 },
}

impl Search {
    /// A search from thirty random starts.
    pub const GLOBAL: Self = Self::Global { starts: 30, seed: 0 };
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            fixed: Vec::new(),
            start: None,
            bounds: Vec::new(),
            tolerance: 1e-9,
            max_iterations: 200,
            covariance: false,
            search: Search::default(),
        }
    }
}

impl FitOptions {
    /// Holds a parameter at a value.
    #[must_use]
    pub fn fixing(mut self, parameter: usize, value: f64) -> Self {
        self.fixed.push((parameter, value));
        self
    }

    /// Sets another start.
    #[must_use]
    pub fn from(mut self, start: &[f64]) -> Self {
        self.start = Some(start.to_vec());
        self
    }

    /// Sets other bounds of a parameter.
    #[must_use]
    pub fn bounding(mut self, parameter: usize, bounds: [f64; 2]) -> Self {
        self.bounds.push((parameter, bounds));
        self
    }

    /// Requests a covariance matrix.
    #[must_use]
    pub fn with_covariance(mut self) -> Self {
        self.covariance = true;
        self
    }

    /// Sets another search for lower minima.
    #[must_use]
    pub fn searching(mut self, search: Search) -> Self {
        self.search = search;
        self
    }
}
