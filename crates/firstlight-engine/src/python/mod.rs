//! Python from the outside: finding the real interpreter, laying out the hooks that it loads.

mod embedded;
mod interpreter;
mod layout;
mod resolve;

pub(crate) use embedded::{SCHEMA_FILES, SUITES, lay_out};
pub use interpreter::Interpreter;
pub use layout::Hooks;
pub use resolve::{Resolved, resolve};
