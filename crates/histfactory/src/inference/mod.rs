//! Tests of hypotheses, limits, discovery, profiles (arXiv:1007.1727, as pyhf defines them).

mod error;
mod hermite;
mod hypotest;
mod interval;
mod limit;
pub(crate) mod notes;
mod ranking;
mod root;
mod scan;
mod significance;
mod statistic;

pub use error::InferenceError;
pub use hypotest::{BANDS, Hypotest, PValues};
pub use interval::{End, Interval};
pub use limit::{LimitOptions, MissingLimit, Tested, UpperLimit, WhyNoLimit};
pub use notes::{Fitted, Note};
pub use ranking::{Impact, Pull};
pub use scan::{Scan, ScanPoint};
pub use significance::{Dataset, Significance, SignificanceGradient};
pub use statistic::{Profile, TestKind, TestOptions, TestStatistic};
