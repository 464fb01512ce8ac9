//! The cost of a suite's arms beyond their baseline and beyond the reference arm, with the factor by which
//! recording increases it.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::suite_trace::{ArmTrace, Beyond, Overhead, OverheadRun, SuiteTraceDocument};
use firstlight_schema::trace::{TracedRun, Tracing};

/// Fills in the overheads of a document with recorded arms.
pub fn tell_overheads(document: &mut SuiteTraceDocument) {
    let reference = document.reference.clone();
    let others: Vec<TracedRun> = document
        .arms
        .iter()
        .find(|arm| Some(&arm.arm) == reference.as_ref())
        .map_or_else(Vec::new, |arm| runs(arm).to_vec());
    for arm in &mut document.arms {
        let against_itself = Some(&arm.arm) == reference.as_ref();
        let of_baseline = runs(arm)
            .iter()
            .filter_map(|run| Some(OverheadRun { tracing: run.tracing, ns: run.overhead?.point }));
        let of_baseline = overhead(Beyond::Baseline, None, of_baseline.collect());
        let beyond = |run: &TracedRun| {
            let other = others.iter().find(|other| other.tracing == run.tracing)?;
            Some(OverheadRun { tracing: run.tracing, ns: run.step?.point - other.step?.point })
        };
        let of_reference: Vec<OverheadRun> =
            if against_itself { Vec::new() } else { runs(arm).iter().filter_map(beyond).collect() };
        let of_reference = overhead(Beyond::Reference, reference.clone(), of_reference);
        arm.overheads = of_baseline.into_iter().chain(of_reference).collect();
    }
}

fn runs(arm: &ArmTrace) -> &[TracedRun] {
    let inflation = arm.trace.as_ref().and_then(|trace| trace.inflation.as_ref());
    inflation.map_or(&[], |inflation| &inflation.runs)
}

fn overhead(beyond: Beyond, arm: Option<String>, runs: Vec<OverheadRun>) -> Option<Overhead> {
    let (least, most) = (runs.first()?, runs.last()?);
    let comparable = runs.len() > 1 && least.ns > 0.0 && most.ns > 0.0;
    let factor = comparable.then(|| most.ns / least.ns);
    let inflated = least.tracing == Tracing::Python;
    let text = "it was only seen while Python frames were recorded, which makes it larger";
    let findings =
        inflated.then(|| Reason::new(Finding::TracerInflated, text)).into_iter().collect();
    Some(Overhead { beyond, arm, runs, factor, findings })
}

#[cfg(test)]
mod tests {
    use firstlight_schema::finding::Finding;
    use firstlight_schema::suite_trace::{Beyond, OverheadRun};
    use firstlight_schema::trace::Tracing;

    use super::overhead;

    fn run(tracing: Tracing, ns: f64) -> OverheadRun {
        OverheadRun { tracing, ns }
    }

    #[test]
    fn the_factor_is_that_of_the_run_with_the_most_tracing() {
        let runs = vec![
            run(Tracing::Untraced, 5e6),
            run(Tracing::HostOnly, 5e6),
            run(Tracing::Python, 12e6),
        ];
        let own = overhead(Beyond::Baseline, None, runs).unwrap();
        assert_eq!((own.factor, own.findings.len()), (Some(2.4), 0));
    }

    #[test]
    fn an_overhead_from_a_run_with_python_frames_alone_is_inflated() {
        let own = overhead(Beyond::Baseline, None, vec![run(Tracing::Python, 12e6)]).unwrap();
        assert_eq!(own.factor, None);
        assert_eq!(own.findings[0].finding, Finding::TracerInflated);
    }

    #[test]
    fn an_overhead_that_is_not_positive_has_no_factor() {
        for (least, most) in [(-1.0, 7.0), (7.0, -1.0)] {
            let runs = vec![run(Tracing::Untraced, least), run(Tracing::Python, most)];
            assert_eq!(overhead(Beyond::Reference, None, runs).unwrap().factor, None);
        }
        assert_eq!(overhead(Beyond::Reference, None, Vec::new()), None);
    }
}
