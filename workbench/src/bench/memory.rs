//! The memory of the parent while it measures.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::{Workshop, judge};
use xtask::shell::Result;

const MOST_MEGABYTES: u64 = 30;
/// With a raw reading of sixteen bytes for each of 1.8 million calls.
const MOST_MEGABYTES_OF_CALLS: u64 = 60;

pub(super) fn bench(workshop: &Workshop) -> Result {
    println!("── bench memory: the parent's own high-water mark");
    let python = workshop.python.display().to_string();
    let step = Workshop::script("step.py");
    let calls = Workshop::script("calls");
    let small = MOST_MEGABYTES;
    let cases: [(&str, Vec<&str>, u64); 4] = [
        ("10 JAX processes", vec!["cold", "--runs", "10", "--", &python, &step], small),
        ("400 runs of `true`", vec!["cold", "--runs", "400", "--", "true"], small),
        (
            "100 MB of output",
            vec!["cold", "--runs", "3", "--", "head", "-c", "100000000", "/dev/zero"],
            small,
        ),
        (
            "18 processes of 100,000 calls",
            vec!["run", &calls, "--python", &python],
            MOST_MEGABYTES_OF_CALLS,
        ),
    ];
    for (what, arguments, most) in cases {
        let peak = high_water(workshop, &arguments)?;
        let figure = format!("{:.1} MB", to_megabytes(peak));
        judge(what, &figure, &format!("at most {most} MB"), peak <= most * 1_000_000);
    }
    Ok(())
}

/// The last reading of `VmHWM` before the process exited; the peak never falls.
fn high_water(workshop: &Workshop, arguments: &[&str]) -> Result<u64> {
    let mut command = workshop.firstlight(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes =
            line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = kilobytes.map_or(peak, |value| value * 1024);
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(peak)
}

#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
fn to_megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
