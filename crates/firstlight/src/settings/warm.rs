//! Settings of `firstlight warm`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use firstlight_engine::privacy::Identity;
use firstlight_engine::secrets::without_keys;
use firstlight_report::terminal::Report;

use super::Destination;
use super::run::{report, written_down};
use crate::args::{Format, WarmArgs};
use crate::cold_suite::{plain, string, unused};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct WarmSettings {
    /// `module:function` or `file.py:function`.
    pub(crate) functions: Vec<String>,
    /// Python source; empty for none.
    pub(crate) arguments: String,
    pub(crate) processes: u32,
    pub(crate) calls: u32,
    pub(crate) within: Duration,
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
    pub(crate) argv: Vec<String>,
    pub(crate) report: Report,
    pub(crate) python: Option<PathBuf>,
    pub(crate) destination: Destination,
}

impl WarmSettings {
    pub(crate) fn resolve(args: WarmArgs, format: Format, typed: &[String]) -> Result<Self, Error> {
        let is_function = |text: &str| {
            text.rsplit_once(':').is_some_and(|(place, name)| !place.is_empty() && !name.is_empty())
        };
        if let Some(wrong) = args.functions.iter().find(|text| !is_function(text)) {
            return Err(Error::Usage(format!(
                "invalid function `{wrong}`: expected module:function or file.py:function"
            )));
        }
        Ok(Self {
            functions: args.functions,
            arguments: args.args.unwrap_or_default(),
            processes: args.processes,
            calls: args.calls,
            within: args.within,
            timeout: args.timeout,
            seed: args.seed,
            argv: written_down(typed, args.redact),
            report: report(&args.length),
            python: args.python,
            destination: Destination::new(format, args.export_json, args.output)
                .redacted(args.redact),
        })
    }

    /// The suite in its published form: without keys, and on request without names of the machine and its
    /// user.
    pub(crate) fn published(&self, identity: Option<&Identity>) -> String {
        self.text(|option| {
            let text = without_keys(option);
            identity.map_or(text.clone(), |identity| identity.redact_word(&text))
        })
    }

    /// The suite that measures the functions.
    pub(crate) fn suite_text(&self) -> String {
        self.text(str::to_owned)
    }

    fn text(&self, shown: impl Fn(&str) -> String) -> String {
        let duration = |time: Duration| string(&humantime::format_duration(time).to_string());
        let (timeout, within) = (duration(self.timeout), duration(self.within));
        let Self { seed, calls, processes, .. } = self;
        let mut text = format!(
            "name = \"warm\"\nregimes = [\"warm\"]\n\n\
             [sampling]\ntimeout = {timeout}\nseed = {seed}\n\n\
             [warm]\nprocesses = {processes}\nmost-processes = {processes}\n\
             iterations = {calls}\nwithin = {within}\n\n\
             [cache]\nbytecode = \"as-found\"\n\n\
             [comparison]\noutputs = \"unchecked\"\ncontrol = false\n\n\
             [[case]]\nname = \"call\"\n",
        );
        let mut names: Vec<String> = Vec::new();
        for function in &self.functions {
            let base = function.rsplit([':', '.']).next().unwrap_or(function);
            names.push(unused(&plain(base), &names));
            let name = string(names.last().expect("it was just added"));
            write!(
                text,
                "\n[[arm]]\nname = {name}\nworkload = \"measured.py\"\noptions = {{ function = {}, \
                 args = {} }}\n",
                string(&shown(function)),
                string(&shown(&self.arguments)),
            )
            .expect("writing to a string");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use firstlight_schema::suite::SuiteFile;

    use super::WarmSettings;
    use crate::args::{Args, Command, Format};

    #[test]
    fn functions_become_arms_with_unique_names() {
        let typed = ["firstlight", "warm", "a:f", "b.py:f", "--args", "\"x\", 3"];
        let Command::Warm(args) = Args::parse_from(typed).command else { panic!("it is warm") };
        let settings = WarmSettings::resolve(args, Format::Text, &[]).unwrap();
        let suite = SuiteFile::parse(&settings.suite_text()).unwrap();
        let names: Vec<&str> = suite.arms.iter().map(|arm| arm.name.get_ref().as_str()).collect();
        assert_eq!(names, ["f", "f-2"]);
        assert_eq!(suite.arms[1].options["function"].to_string(), "b.py:f");
        assert_eq!(suite.arms[1].options["args"].to_string(), "\"x\", 3");
        assert_eq!(suite.warm.processes, 6);
    }
}
