//! Common parts of the tasks: running programs, Python environments, histfactory's wheel.

#![expect(clippy::print_stdout, reason = "a chore talks to whoever started it")]

pub mod dist;
pub mod installed;
pub mod kernels;
pub mod prebuilt;
pub mod python;
pub mod release;
pub mod shell;
pub mod suite;
pub mod systems;
pub mod test;
pub mod wheel;
