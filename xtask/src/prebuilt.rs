//! Replaces cargo when maturin packs a wheel for the tests. Built alone, a package gets other features, and
//! cargo compiles it again with its dependencies. This returns the artifacts of the workspace's build instead.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};

/// Names the real cargo. Set only for maturin in the tests.
pub const REAL_CARGO: &str = "FIRSTLIGHT_REAL_CARGO";

/// The build of everything: programs, libraries, tests and examples with one set of features.
pub const WHOLE: [&str; 4] = ["build", "--quiet", "--workspace", "--all-targets"];

/// Variables that maturin sets for pyo3. The workspace is built without them.
const MATURINS: [&str; 3] = ["PYO3_CONFIG_FILE", "PYO3_PYTHON", "PYO3_ENVIRONMENT_SIGNATURE"];

/// Answers maturin's `cargo rustc` with the artifacts of the whole build. Other subcommands reach cargo as
/// they are.
pub fn cargo(real: &str, arguments: &[String]) -> ExitCode {
    let mut command = Command::new(real);
    if arguments.first().is_none_or(|subcommand| subcommand != "rustc") {
        return exit(command.args(arguments).status().ok().and_then(|status| status.code()));
    }
    command.args(WHOLE).args(["--message-format", "json-render-diagnostics"]);
    for name in MATURINS {
        command.env_remove(name);
    }
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else { return exit(None) };
    let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let mut stdout = std::io::stdout().lock();
    for line in lines.map_while(Result::ok).filter(|line| !is_test(line) && !is_example(line)) {
        if writeln!(stdout, "{line}").is_err() {
            return exit(None);
        }
    }
    exit(child.wait().ok().and_then(|status| status.code()))
}

/// A unit test has the package and the name of the program that it tests, so maturin would pack it.
fn is_test(message: &str) -> bool {
    let profile = message.split_once(r#""profile":{"#).and_then(|(_, rest)| rest.split_once('}'));
    profile.is_some_and(|(profile, _)| profile.contains(r#""test":true"#))
}

/// An example also is a program of its package, and maturin packs the one that it sees last.
fn is_example(message: &str) -> bool {
    let kind = message.split_once(r#""kind":["#).and_then(|(_, rest)| rest.split_once(']'));
    kind.is_some_and(|(kind, _)| kind.contains("example"))
}

fn exit(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::{is_example, is_test};

    fn artifact(kind: &str, test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"firstlight","test":true}},"profile":{{"opt_level":"0","debug_assertions":true,"test":{test}}},"fresh":true}}"#
        )
    }

    #[test]
    fn only_the_profile_distinguishes_a_test_from_the_program_that_it_tests() {
        assert!(is_test(&artifact("bin", true)));
        assert!(!is_test(&artifact("bin", false)));
    }

    #[test]
    fn an_example_is_not_packed() {
        assert!(is_example(&artifact("example", false)));
        assert!(!is_example(&artifact("bin", false)) && !is_example(&artifact("cdylib", false)));
    }
}
