//! The result of a check, before it is recorded.

use firstlight_schema::health::{CheckName, CheckStatus, HealthCheck};

pub(super) struct Verdict {
    status: CheckStatus,
    value: String,
    advice: Option<String>,
}

impl Verdict {
    pub(super) fn ok(value: impl Into<String>) -> Self {
        Self { status: CheckStatus::Ok, value: value.into(), advice: None }
    }

    pub(super) fn warn(value: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { status: CheckStatus::Warn, value: value.into(), advice: Some(advice.into()) }
    }

    /// A warning with its advice if the condition holds, otherwise ok; both have the value.
    pub(super) fn warn_if(warns: bool, value: impl Into<String>, advice: &str) -> Self {
        if warns { Self::warn(value, advice) } else { Self::ok(value) }
    }
}

/// A check and its verdict; unknown without one.
pub(super) fn check(name: CheckName, verdict: Option<Verdict>) -> HealthCheck {
    let unknown =
        || Verdict { status: CheckStatus::Unknown, value: "unknown".to_owned(), advice: None };
    let Verdict { status, value, advice } = verdict.unwrap_or_else(unknown);
    HealthCheck { name, status, value, why: name.why().to_owned(), advice }
}

/// `1 thing`, `2 things`.
pub(super) fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// Bytes in a readable unit.
#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000_000_000 => format!("{:.0} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}
