//! Prints a generated workspace: `cargo run -p histfactory --example synthetic -- combination 1`, or `any 7`
//! for an arbitrary one.

#![expect(clippy::print_stdout, reason = "it is all that this program does")]

use histfactory::synthetic::{Limits, Twin, any};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("which one: small, combination, shapes, search or any?")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse().map_err(|_| "no such seed"))?;
    let twin = Twin::ALL.into_iter().find(|twin| twin.as_str() == name);
    let workspace = match twin {
        Some(twin) => twin.workspace(seed),
        None if name == "any" => any(seed, Limits::default()),
        None => return Err(format!("there is no `{name}`")),
    };
    println!("{}", workspace.to_json());
    Ok(())
}
