//! The `histfactory` program; everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    histfactory_cli::main(std::env::args_os())
}
