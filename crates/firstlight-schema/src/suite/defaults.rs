//! Default values of a suite. They may change from one firstlight to the next, so a run records the revision
//! that it used, and a stored run keeps the defaults that it was measured with.

use super::error::SuiteError;
use super::file::SuiteFile;

/// The revision of the defaults for new runs.
pub const DEFAULTS: u32 = 2;

impl SuiteFile {
    /// Reads a suite with the defaults of a given revision, which may be that of a stored run.
    pub fn parse_with(text: &str, defaults: u32) -> Result<Self, SuiteError> {
        let written: toml::Table = text.parse().unwrap_or_default();
        let warm = written.get("warm").and_then(toml::Value::as_table);
        let is_set = |name: &str| warm.is_some_and(|warm| warm.contains_key(name));
        let adjust = |suite: &mut Self| {
            let warm = &mut suite.warm;
            if defaults < DEFAULTS {
                if !is_set("processes") {
                    warm.processes = 6;
                }
                if !is_set("most-processes") {
                    warm.most_processes = 20;
                }
                warm.target = warm.target.or(Some(0.02));
            } else if !is_set("processes") {
                warm.processes = warm.processes.min(warm.most_processes);
            }
        };
        Self::read(text, adjust)
    }

    /// Reads a suite and checks that its parts fit together.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        Self::parse_with(text, DEFAULTS)
    }
}

#[cfg(test)]
mod tests {
    use super::SuiteFile;

    const SUITE: &str =
        "name = \"s\"\n[[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\ncommand = [\"x\"]\n";

    #[test]
    fn a_stored_run_keeps_the_defaults_that_it_was_measured_with() {
        let older = SuiteFile::parse_with(SUITE, 1).unwrap();
        assert_eq!((older.warm.processes, older.warm.most_processes), (6, 20));
        assert_eq!(older.warm.target, Some(0.02));
        let newer = SuiteFile::parse(SUITE).unwrap();
        assert_eq!((newer.warm.processes, newer.warm.most_processes), (18, 30));
        assert_eq!(newer.warm.target, None, "half the margin");
    }

    #[test]
    fn a_value_set_by_a_suite_is_not_a_default() {
        let text = format!("{SUITE}[warm]\nprocesses = 5\nmost-processes = 7\n");
        for defaults in [1, 2] {
            let suite = SuiteFile::parse_with(&text, defaults).unwrap();
            assert_eq!((suite.warm.processes, suite.warm.most_processes), (5, 7));
        }
    }

    #[test]
    fn a_small_limit_lowers_the_default_number() {
        let suite = SuiteFile::parse(&format!("{SUITE}[warm]\nmost-processes = 7\n")).unwrap();
        assert_eq!((suite.warm.processes, suite.warm.most_processes), (7, 7));
    }
}
