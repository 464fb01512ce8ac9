//! Identical code in two arms, and 5 % more work in one: the verdicts of ten runs each.

use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::run::RunDocument;

use super::{Workshop, judge};
use xtask::shell::{Result, output, root};

const TIMES: u32 = 10;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let suite = root().join("benches/arms").display().to_string();
    let python = workshop.python.display().to_string();
    for (case, wanted, good) in [
        ("identical", "never called different", &[Verdict::Equivalent, Verdict::Inconclusive][..]),
        ("five-per-cent", "found every time", &[Verdict::Slower][..]),
    ] {
        println!("── bench arms: {case}, {TIMES} runs");
        let mut met = 0;
        for seed in 1..=TIMES {
            let seed = seed.to_string();
            let arguments = ["run", &suite, "--case", case, "--python", &python, "--seed", &seed];
            let mut command = workshop.firstlight(&arguments);
            let json = output(command.args(["--format", "json", "--quiet"]))?;
            let document: RunDocument =
                serde_json::from_str(&json).map_err(|error| error.to_string())?;
            let comparison = &document.cases[0].comparisons[0];
            let control =
                document.control.as_ref().is_some_and(|control| control.passed == Some(true));
            println!(
                "   {}; control {}",
                description(comparison),
                if control { "passed" } else { "FAILED" }
            );
            met += u32::from(good.contains(&comparison.verdict));
        }
        judge(case, &format!("{met} of {TIMES} runs"), wanted, met == TIMES);
    }
    Ok(())
}

fn description(comparison: &Comparison) -> String {
    let Some(ratio) = comparison.ratio else { return comparison.verdict.to_string() };
    let interval = ratio.interval.map_or_else(String::new, |interval| {
        format!(" ({:.3} to {:.3})", interval.low, interval.high)
    });
    format!("{}: {:.3}{interval}, {} pairs", comparison.verdict, ratio.point, ratio.n)
}
