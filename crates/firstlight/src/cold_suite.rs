//! The suite that `firstlight cold` measures: one case, an arm for each command.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use firstlight_engine::privacy::Identity;
use firstlight_engine::secrets::without_secrets;
use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::suite::Regime;

/// The name of the suite and of its runs.
pub(crate) const NAME: &str = "cold";

/// The settings of `firstlight cold`.
#[derive(Clone, Debug)]
pub(crate) struct ColdSuite {
    pub(crate) arms: Vec<Arm>,
    pub(crate) regimes: Vec<Regime>,
    /// The policy of the regime `cold-clean`.
    pub(crate) policy: CachePolicy,
    pub(crate) runs: u32,
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
    pub(crate) any_exit_code: bool,
    pub(crate) unhooked: bool,
    pub(crate) stdin: Option<String>,
}

/// A command with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
}

impl ColdSuite {
    /// The suite as it is written down: without the values of options such as `--token`, and on request
    /// without names of the machine and its user.
    pub(crate) fn published(&self, identity: Option<&Identity>) -> Self {
        let redacted =
            |word: String| identity.map_or(word.clone(), |identity| identity.redact_word(&word));
        let command = |arm: &Arm| without_secrets(&arm.command).into_iter().map(redacted).collect();
        let arms =
            self.arms.iter().map(|arm| Arm { name: arm.name.clone(), command: command(arm) });
        let stdin = self.stdin.clone().map(redacted);
        Self { arms: arms.collect(), stdin, ..self.clone() }
    }

    /// As a `suite.toml`.
    pub(crate) fn text(&self) -> String {
        let regimes: Vec<&str> = self.regimes.iter().map(|regime| regime.name()).collect();
        let mut text = format!("name = \"{NAME}\"\nregimes = {}\n", array(&regimes));
        let mut table = |name: &str, lines: &[String]| {
            write!(text, "\n{name}\n{}\n", lines.join("\n")).expect("writing to a string");
        };
        let mut sampling = vec![
            format!("processes = {}", self.runs),
            format!("timeout = {}", string(&humantime::format_duration(self.timeout).to_string())),
            format!("seed = {}", self.seed),
            format!("any-exit-code = {}", self.any_exit_code),
            format!("unhooked = {}", self.unhooked),
        ];
        sampling.extend(self.stdin.as_ref().map(|path| format!("stdin = {}", string(path))));
        table("[sampling]", &sampling);
        let CachePolicy { compilers, bytecode, page_cache } = self.policy;
        let cache = [("compilers", compilers), ("bytecode", bytecode), ("page-cache", page_cache)];
        table("[cache]", &cache.map(|(name, policy)| format!("{name} = \"{policy}\"")));
        let comparison = ["outputs = \"unchecked\"", "control = false"].map(str::to_owned);
        table("[comparison]", &comparison);
        table("[[case]]", &["name = \"start\"".to_owned()]);
        for Arm { name, command } in &self.arms {
            let lines =
                [format!("name = {}", string(name)), format!("process = {}", array(command))];
            table("[[arm]]", &lines);
        }
        text
    }
}

/// The regimes, and the state of the compilers' caches, for these policies.
pub(crate) fn regimes(policies: &[Policy]) -> Result<(Vec<Regime>, Policy), String> {
    let others: Vec<Policy> =
        policies.iter().copied().filter(|&policy| policy != Policy::Primed).collect();
    let primed = policies.contains(&Policy::Primed);
    match (others[..].iter().copied().min(), primed) {
        (Some(first), _) if others.iter().any(|&other| other != first) => Err(format!(
            "--cache takes one of as-configured, clean, disabled and as-found, and `primed` beside \
             it; got {}",
            policies.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        )),
        (Some(first), true) => Ok((vec![Regime::ColdClean, Regime::ColdPrimed], first)),
        (Some(first), false) => Ok((vec![Regime::ColdClean], first)),
        (None, true) => Ok((vec![Regime::ColdPrimed], Policy::AsConfigured)),
        (None, false) => Ok((vec![Regime::ColdClean], Policy::AsConfigured)),
    }
}

/// A unique name for each command: that of its script, otherwise that of its program.
pub(crate) fn named(commands: Vec<Vec<String>>) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    for command in commands {
        let is_script = |word: &&String| Path::new(word).extension().is_some_and(|end| end == "py");
        let script = command.iter().find(is_script);
        let word = script.or(command.first()).map_or("", String::as_str);
        let file = Path::new(word).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let taken: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
        let name = unused(&plain(&file.unwrap_or_default()), &taken);
        arms.push(Arm { name, command });
    }
    arms
}

/// Converts a text to a valid name of an arm.
pub(crate) fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = text.chars().map(plain).collect();
    if name.is_empty() { "command".to_owned() } else { name }
}

/// The name, with a number if it is already used.
pub(crate) fn unused(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).expect("there is always a larger number")
}

/// A TOML string, which equals the JSON string except for one character.
pub(crate) fn string(text: &str) -> String {
    serde_json::to_string(text).expect("a string is valid JSON").replace('\u{7f}', "\\u007f")
}

fn array(words: &[impl AsRef<str>]) -> String {
    let words: Vec<String> = words.iter().map(|word| string(word.as_ref())).collect();
    format!("[{}]", words.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use firstlight_schema::cache::{CachePolicy, Policy};
    use firstlight_schema::suite::{Program, Regime, SuiteFile};

    use super::{ColdSuite, named, regimes};

    #[test]
    fn any_command_survives_the_suite() {
        let odd = ["sh", "-c", "echo \"a\\b\"\n\t'é' \u{7f} \u{1}", ""].map(str::to_owned).to_vec();
        let suite = ColdSuite {
            arms: named(vec![odd.clone()]),
            regimes: vec![Regime::ColdClean],
            policy: CachePolicy {
                compilers: Policy::Clean,
                bytecode: Policy::AsFound,
                page_cache: Policy::AsFound,
            },
            runs: 3,
            timeout: Duration::from_millis(90_500),
            seed: 7,
            any_exit_code: true,
            unhooked: false,
            stdin: None,
        };
        let file = SuiteFile::parse(&suite.text()).unwrap();
        assert_eq!(file.arms[0].program(), Program::Process(&odd));
        assert_eq!(file.sampling.timeout, suite.timeout);
        assert_eq!(file.policy("sh", Regime::ColdClean), suite.policy);
    }

    #[test]
    fn names_come_from_scripts_and_are_all_different() {
        let command = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let arms = named(vec![command("python a/b.py x"), command("python b.py"), command("true")]);
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["b", "b-2", "true"]);
    }

    #[test]
    fn policies_become_regimes() {
        let both = regimes(&[Policy::Clean, Policy::Primed]).unwrap();
        assert_eq!(both, (vec![Regime::ColdClean, Regime::ColdPrimed], Policy::Clean));
        assert_eq!(regimes(&[Policy::Primed]).unwrap().0, [Regime::ColdPrimed]);
        assert!(regimes(&[Policy::Clean, Policy::Disabled]).is_err());
    }
}
