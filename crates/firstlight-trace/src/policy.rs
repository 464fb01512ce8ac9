//! Compares a declared cache policy with a recording: the compilations, and the hits of a disk cache.

use firstlight_schema::cache::Policy;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::trace::{Compilation, Served, TraceDocument};

/// The number of compilations that are named; the rest are counted.
const NAMED: usize = 3;

/// Adds contradictions of the policy to the document's findings.
pub fn check_cache(document: &mut TraceDocument, policy: Policy) {
    let (finding, wrong, what) = match policy {
        Policy::Clean | Policy::Disabled | Policy::AsConfigured => {
            (Finding::CacheNotClean, Served::DiskCache, "served by a disk cache")
        }
        Policy::Primed => {
            (Finding::CacheNeverHit, Served::Compiler, "compiled and not served by a disk cache")
        }
        Policy::AsFound => return,
    };
    let all = &document.compilations;
    let against: Vec<&Compilation> = all.iter().filter(|one| one.served == wrong).collect();
    if against.is_empty() {
        return;
    }
    let mut named: Vec<String> = against.iter().take(NAMED).map(|one| describe(one)).collect();
    if against.len() > NAMED {
        named.push(format!("and {} more", against.len() - NAMED));
    }
    let text = format!(
        "declared {policy}, and {} of {} programs {what}: {}",
        against.len(),
        all.len(),
        named.join(", ")
    );
    document.findings.push(Reason::new(finding, text));
}

fn describe(compilation: &Compilation) -> String {
    let step = compilation.step.map_or_else(String::new, |step| format!(" in step {step}"));
    format!("`{}`{step}", compilation.function)
}
