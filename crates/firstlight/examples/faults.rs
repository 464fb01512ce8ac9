//! `cargo xtask faults`: the complete hostile campaign, as a table. Fails if any case is lost.

#![expect(clippy::print_stdout, reason = "a chore talks to whoever started it")]

#[path = "../tests/campaign/mod.rs"]
mod campaign;

use std::process::ExitCode;

use campaign::{Programs, Size, campaign, table};

fn main() -> ExitCode {
    let own = std::env::current_exe().expect("this program has a path");
    let profile = own.ancestors().nth(2).expect("examples are below the profile's folder");
    let programs = Programs {
        firstlight: profile.join("firstlight"),
        replay: profile.join("firstlight-replay"),
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seed = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(1);
    let short = arguments.iter().any(|argument| argument == "short");
    let rows = campaign(&programs, if short { Size::SHORT } else { Size::FULL }, seed);
    println!("{}", table(&rows));
    let lost = rows.iter().any(|row| !row.lost.is_empty());
    if lost { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
