//! A diagnosis in words.

use firstlight_schema::diagnosis::Diagnosis;
use firstlight_schema::finding::Finding;

use crate::words::format::duration;

/// `jit(step) compiled twice, 5.98 s (37 %): argument 3 changed from f32[64] to f32[48]`.
pub(crate) fn line(diagnosis: &Diagnosis) -> String {
    let Diagnosis { finding, what, cost_ns, share, cause, action, .. } = diagnosis;
    // This text ends in its verb.
    let comma = if *finding == Finding::PrimedCacheSaves { "" } else { "," };
    let number = format!("{what}{comma} {} ({:.0} %)", duration(*cost_ns), share * 100.0);
    let rest: Vec<&str> = [cause.as_deref(), action.as_deref()].into_iter().flatten().collect();
    if rest.is_empty() { number } else { format!("{number}: {}", rest.join("; ")) }
}
