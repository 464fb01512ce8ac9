//! The `firstlight` program; all its code is in the library of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    firstlight::main(std::env::args_os())
}
