//! Generates the JSON Schemas and the reference pages from the code, and checks them for drift.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::builder::StyledStr;
use firstlight_schema::comparison::ComparisonDocument;
use firstlight_schema::config::{Config, FILE, KEYS, Key, Kind, PROJECT_FILE};
use firstlight_schema::conformance::ConformanceDocument;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::finding::Finding;
use firstlight_schema::gate::{BisectDocument, GateDocument};
use firstlight_schema::health::{CheckName, HealthDocument};
use firstlight_schema::launch::{LaunchDocument, StatusDocument};
use firstlight_schema::message::{Message, Request};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::RunDocument;
use firstlight_schema::site::SiteDocument;
use firstlight_schema::snapshot::Manifest;
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::suite_trace::SuiteTraceDocument;
use firstlight_schema::trace::TraceDocument;
use firstlight_schema::trace_comparison::TraceComparisonDocument;
use firstlight_schema::validation::{Rule, ValidationDocument};
use firstlight_schema::variables;
use schemars::{JsonSchema, Schema, schema_for};

use crate::{api, pages, support, unsafety};
use xtask::shell::{Result, root};

pub(crate) fn generate(check: bool) -> Result {
    println!("── {}", if check { "generated files" } else { "generating" });
    let mut drifted = Vec::new();
    for (path, content) in all()? {
        let full = root().join(&path);
        if fs::read_to_string(&full).is_ok_and(|known| known == content) {
            continue;
        }
        if check {
            drifted.push(path);
        } else {
            write(&full, &content)?;
            println!("{path}");
        }
    }
    if drifted.is_empty() {
        return Ok(());
    }
    Err(format!("{} drifted; run `cargo xtask generate`", drifted.join(", ")))
}

/// Every generated file, once.
fn all() -> Result<Vec<(String, String)>> {
    let mut all: Vec<(String, String)> =
        files().into_iter().chain(of_histfactory()).chain(pages::files()?).collect();
    all.extend(api::snapshots()?);
    support::fill(&mut all)?;
    Ok(all)
}

fn write(path: &Path, content: &str) -> Result {
    let problem = |error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().expect("a file in a folder")).map_err(problem)?;
    fs::write(path, content).map_err(problem)
}

fn files() -> Vec<(String, String)> {
    vec![
        ("schemas/run.json".to_owned(), schema::<RunDocument>()),
        ("schemas/comparison.json".to_owned(), schema::<ComparisonDocument>()),
        ("schemas/conformance.json".to_owned(), schema::<ConformanceDocument>()),
        ("schemas/gate.json".to_owned(), schema::<GateDocument>()),
        ("schemas/bisect.json".to_owned(), schema::<BisectDocument>()),
        ("schemas/config.json".to_owned(), schema::<Config>()),
        ("schemas/doctor.json".to_owned(), schema::<HealthDocument>()),
        ("schemas/launch.json".to_owned(), schema::<LaunchDocument>()),
        ("schemas/status.json".to_owned(), schema::<StatusDocument>()),
        ("schemas/raw-record.json".to_owned(), schema::<RawRecord>()),
        ("schemas/site.json".to_owned(), schema::<SiteDocument>()),
        ("schemas/snapshot.json".to_owned(), schema::<Manifest>()),
        ("schemas/trace.json".to_owned(), schema::<TraceDocument>()),
        ("schemas/suite-trace.json".to_owned(), schema::<SuiteTraceDocument>()),
        ("schemas/trace-comparison.json".to_owned(), schema::<TraceComparisonDocument>()),
        ("schemas/validation.json".to_owned(), schema::<ValidationDocument>()),
        ("schemas/suite.json".to_owned(), schema::<SuiteFile>()),
        ("schemas/protocol-message.json".to_owned(), schema::<Message>()),
        ("schemas/protocol-request.json".to_owned(), schema::<Request>()),
        (
            "docs/reference/command-line.md".to_owned(),
            command_line("firstlight", firstlight::interface()),
        ),
        (
            "docs/reference/histfactory-command-line.md".to_owned(),
            command_line("histfactory", histfactory_cli::interface()),
        ),
        ("docs/reference/exit-codes.md".to_owned(), exit_codes()),
        ("docs/reference/findings.md".to_owned(), findings()),
        ("docs/reference/configuration.md".to_owned(), configuration()),
        ("docs/reference/unsafe.md".to_owned(), unsafety::page()),
        ("docs/reference/rules.md".to_owned(), rules()),
        ("docs/reference/health-checks.md".to_owned(), health_checks()),
        ("docs/reference/environment-variables.md".to_owned(), environment_variables()),
    ]
}

/// The documents of `histfactory --format json`.
fn of_histfactory() -> impl Iterator<Item = (String, String)> {
    histfactory_cli::schemas().map(|(name, schema)| (format!("schemas/{name}.json"), text(&schema)))
}

fn schema<T: JsonSchema>() -> String {
    text(&schema_for!(T))
}

fn text(schema: &Schema) -> String {
    let mut json = serde_json::to_string_pretty(schema).expect("a schema is JSON");
    json.push('\n');
    json
}

const MADE: &str = "<!-- Made by `cargo xtask generate`; edit the code instead. -->\n\n";

fn command_line(program: &str, interface: clap::Command) -> String {
    let mut text = format!("# Command line of {program}\n\n{MADE}");
    let mut interface = interface.term_width(100);
    interface.build();
    let plain = |help: StyledStr| help.to_string().trim_end().to_owned();
    write!(text, "```\n{}\n```\n", plain(interface.render_long_help())).expect("a string");
    for command in interface.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let name = command.get_name().to_owned();
        let help = plain(command.render_long_help());
        write!(text, "\n## {program} {name}\n\n```\n{help}\n```\n").expect("a string");
    }
    text
}

fn exit_codes() -> String {
    let mut text = format!(
        "# Exit codes\n\n{MADE}*Exit codes of firstlight.*\n\n| code | meaning |\n|---|---|\n"
    );
    for exit in Exit::ALL {
        writeln!(text, "| {} | {} |", exit.code(), exit.meaning()).expect("a string");
    }
    text
}

fn configuration() -> String {
    let mut text = format!(
        "# Configuration file\n\n{MADE}\
         `{FILE}`, or the table `[tool.firstlight]` in `{PROJECT_FILE}`, holds defaults for options. firstlight \
         reads the nearest one in the current folder and the folders above; `{FILE}` comes first where a folder \
         has both. A flag counts more than an environment variable, which counts more than the file. \
         `FIRSTLIGHT_CONFIG` names another file; empty, it switches the file off, as `--no-config` does. \
         An unknown key is an error with its line. Measured processes never see the file.\n\n\
         A key at the top is the default of every command that has the option. A table named after a command \
         holds defaults of that command alone and counts more. A file that belongs to another user is refused. \
         `schemas/config.json` describes `{FILE}`.\n\n\
         ```toml\nmargin = \"5%\"\nseed = 7\n\n[gate]\nprocesses = 30\nprepare = \"uv sync --frozen\"\n```\n\n\
         *Keys of the configuration file.*\n\n| key | value | commands | meaning |\n|---|---|---|---|\n"
    );
    for Key { name, kind, commands, about } in &KEYS {
        let value = match kind {
            Kind::Number => "whole number",
            Kind::Margin => "`\"5%\"`, `0.05`, or a list such as `[\"5%\", \"mlp=2%\"]`",
            Kind::Text => "text",
            Kind::Texts => "text, or a list of texts",
            Kind::Path => "path, relative to the file's folder",
            Kind::Switch => "`true` or `false`",
        };
        let commands = if commands.is_empty() { "all".to_owned() } else { commands.join(", ") };
        writeln!(text, "| `{name}` | {value} | {commands} | {about} |").expect("a string");
    }
    text
}

fn findings() -> String {
    let mut text = format!("# Findings\n\n{MADE}");
    text.push_str(
        "A finding is a rule's complaint about a sample or a run. Names never change. As a reason, a\n\
         finding makes a sample invalid: the sample is kept but excluded from the statistics. As a notice,\n\
         it stands next to the numbers.\n\n*Every finding.*\n\n| finding | why it matters | what to do |\n|---|---|---|\n",
    );
    for finding in Finding::ALL {
        let advice = finding.advice().unwrap_or("");
        writeln!(text, "| `{finding}` | {} | {advice} |", finding.meaning()).expect("a string");
    }
    text
}

fn rules() -> String {
    let mut text = format!("# Rules\n\n{MADE}");
    text.push_str(
        "`firstlight verify` checks a snapshot against these rules. Names never change. Each rule passes,\n\
         warns, fails or is not checked, with its evidence.\n\n*Every rule.*\n\n| rule | requirement |\n|---|---|\n",
    );
    for rule in Rule::ALL {
        writeln!(text, "| `{rule}` | {} |", rule.meaning()).expect("a string");
    }
    text
}

fn health_checks() -> String {
    let mut text = format!("# Health checks\n\n{MADE}");
    text.push_str(
        "`firstlight doctor` runs these checks. Names never change. The checks of NVIDIA devices\n\
         need `nvidia-smi` on the path.\n\n*Every check.*\n\n| check | why it matters |\n|---|---|\n",
    );
    for check in CheckName::ALL {
        writeln!(text, "| `{check}` | {} |", check.why()).expect("a string");
    }
    text
}

fn environment_variables() -> String {
    let mut text = format!(
        "# Environment variables\n\n{MADE}*Variables that firstlight reads or sets.*\n\n| variable | meaning |\n|---|---|\n"
    );
    for (name, meaning) in variables::ALL {
        writeln!(text, "| `{name}` | {meaning} |").expect("a string");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_file_is_generated_twice() {
        let all = super::all().unwrap();
        let paths: BTreeSet<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths.len(), all.len());
        let (_, readme) = all.iter().find(|(path, _)| path == "README.md").unwrap();
        assert!(readme.contains("| Python | JAX |"), "{readme}");
    }
}
