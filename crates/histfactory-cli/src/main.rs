//! The `histfactory` program; all its code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    histfactory_cli::main(std::env::args_os())
}
