//! The suites in their tiny form, each from one command with an environment created from its lock file: the
//! time, and whether the result shows the suite's purpose.

use std::path::Path;
use std::time::Instant;

use firstlight_report::words::tables;
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{ArmResult, CaseResult, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use super::{Workshop, judge};
use xtask::shell::Result;

const SUITES: [&str; 3] = ["generate", "jit-overhead", "short-runs"];
const MINUTES: f64 = 5.0;
/// The exit code of `firstlight run` if some arm failed and the others are valid.
const SOME_FAILED: i32 = 5;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let cache = workshop.folder.path().join("cache");
    for suite in SUITES {
        println!("── bench suites: {suite}, its tiny form on a machine that has nothing yet");
        let began = Instant::now();
        let document = run(workshop, suite, &cache)?;
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        let wanted = format!("under {MINUTES} minutes");
        judge("wall time", &format!("{minutes:.1} min"), &wanted, minutes < MINUTES);
        samples(&document);
        match suite {
            "generate" => generate(&document)?,
            "jit-overhead" => jit_overhead(&document),
            _ => {}
        }
    }
    Ok(())
}

fn run(workshop: &Workshop, suite: &str, cache: &Path) -> Result<RunDocument> {
    let arguments = ["run", suite, "--profile", "tiny", "--format", "json", "--quiet"];
    let mut command = workshop.firstlight(&arguments);
    let output = command.env("FIRSTLIGHT_CACHE", cache).output();
    let output = output.map_err(|error| format!("{suite}: {error}"))?;
    if !output.status.success() && output.status.code() != Some(SOME_FAILED) {
        return Err(format!("{suite}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{suite}: {error}"))
}

/// Abandoned arms, and the number of valid samples where no mistake was planted.
fn samples(document: &RunDocument) {
    let honest = document.cases.iter().filter(|case| case.planted.is_none());
    let arms: Vec<&ArmResult> = honest.flat_map(|case| &case.arms).collect();
    let stopped = arms.iter().filter(|arm| arm.stopped.is_some()).count();
    judge("arms given up", &stopped.to_string(), "none", stopped == 0);
    let select = || arms.iter().flat_map(|arm| &arm.regimes).flat_map(|regime| &regime.samples);
    let valid = select().filter(|sample| sample.valid).count();
    let all = select().count();
    judge("valid samples", &format!("{valid} of {all}"), "all of them", valid == all);
}

fn generate(document: &RunDocument) -> Result {
    let text = case(document, "text")?;
    let tokens = text.work.as_ref().map_or(f64::NAN, |work| work.per_call);
    for (arm, function, wanted) in [
        ("growing", "jit(append_token)", tokens),
        ("growing-cache", "jit(next_token)", tokens - 1.0),
    ] {
        let sample = sample(text, arm, Regime::ColdClean)?;
        let programs = sample.compiles.iter().filter(|one| one.function == function).count();
        let shapes = tables::signatures(sample, function);
        judge(
            &format!("{arm}, cold"),
            &format!("{programs} programs of {function} for {shapes} shapes"),
            &format!("one for each of {wanted} new shapes"),
            programs == shapes && (count(programs) - wanted).abs() < 0.5,
        );
    }
    for arm in ["static-cache", "int8"] {
        let sample = sample(text, arm, Regime::Warm)?;
        let late = sample.reasons.iter().any(|one| one.finding.name() == "compiled-in-window");
        let figure = if late { "something was compiled" } else { "nothing was compiled" };
        judge(&format!("{arm}, after its warm-up"), figure, "nothing", !late && sample.valid);
    }
    let planted = case(document, "warm-up-of-5-test-of-15")?.planted.as_ref();
    let planted = planted.ok_or("the planted case has no answer")?;
    let refused = if planted.refused { "refused" } else { "not noticed" };
    judge("a warm-up of 5 before a test of 15", refused, "refused", planted.refused);
    for row in &planted.rows {
        let speed_up = row.speed_up.unwrap_or_default();
        println!(
            "   {}: time wrong by {}; speed-up {} wrong, {} right, a factor of {}",
            row.arm,
            description(row.time.factor),
            description(speed_up.wrong),
            description(speed_up.right),
            description(speed_up.factor)
        );
    }
    Ok(())
}

fn jit_overhead(document: &RunDocument) {
    for sweep in &document.sweeps {
        for line in &sweep.overheads {
            let slope = line.slope.map(|slope| Estimate { point: slope.point / 1e3, ..slope });
            println!("   {}: {} µs per {}", line.arm, description(slope), sweep.parameter);
        }
    }
    let planted = document.cases.iter().filter_map(|case| case.planted.as_ref());
    for row in planted.flat_map(|planted| &planted.rows) {
        let factor = row.overhead.and_then(|overhead| overhead.factor);
        println!("   {}: overhead with the profiler on, times {}", row.arm, description(factor));
    }
}

fn description(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| "unknown".to_owned(), |estimate| format!("{:.2}", estimate.point))
}

fn case<'a>(document: &'a RunDocument, name: &str) -> Result<&'a CaseResult> {
    let found = document.cases.iter().find(|case| case.name == name);
    found.ok_or_else(|| format!("there is no case `{name}`"))
}

fn sample<'a>(case: &'a CaseResult, arm: &str, regime: Regime) -> Result<&'a Sample> {
    let arm = case.arms.iter().find(|known| known.name == arm);
    let result = arm.and_then(|arm| arm.regimes.iter().find(|known| known.regime == regime));
    let first = result.and_then(|result| result.samples.first());
    first.ok_or_else(|| format!("{}: there is no sample in {regime}", case.name))
}

fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::NAN, f64::from)
}
