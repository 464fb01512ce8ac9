//! `firstlight.toml`, or `[tool.firstlight]` in `pyproject.toml`: defaults for options. An unknown key is an
//! error with its line.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use toml::Spanned;

use crate::suite::{SuiteError, nearest};

/// The names of the two files.
pub const FILE: &str = "firstlight.toml";
pub const PROJECT_FILE: &str = "pyproject.toml";

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number,
    /// A fraction as a number or `"5%"`; several in a list, such as `["5%", "mlp=2%"]`.
    Margin,
    /// A text such as `"60s"` or the name of a policy.
    Text,
    /// Texts in a list, or one text.
    Texts,
    /// A path, relative to the folder of the file.
    Path,
    Switch,
}

/// A key of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    /// The commands that have the option; empty for all of firstlight.
    pub commands: &'static [&'static str],
    pub about: &'static str,
}

const fn key(
    name: &'static str,
    kind: Kind,
    commands: &'static [&'static str],
    about: &'static str,
) -> Key {
    Key { name, kind, commands, about }
}

/// Every key. Most are options of the same name.
pub static KEYS: [Key; 15] = [
    key(
        "margin",
        Kind::Margin,
        &["bisect", "compare", "gate"],
        "the largest difference that does not matter",
    ),
    key("runs", Kind::Number, &["cold"], "fresh processes of a command"),
    key(
        "processes",
        Kind::Number,
        &["bisect", "gate", "run", "warm"],
        "processes of each arm, or of each side",
    ),
    key(
        "most-processes",
        Kind::Number,
        &["bisect"],
        "most processes of each side for one candidate",
    ),
    key("timeout", Kind::Text, &["bisect", "cold", "gate", "warm"], "time limit for one process"),
    key("cache", Kind::Texts, &["bisect", "cold", "gate"], "state of the compilers' caches"),
    key("bytecode", Kind::Text, &["cold"], "state of Python's .pyc files"),
    key(
        "seed",
        Kind::Number,
        &["bisect", "cold", "gate", "run", "warm"],
        "seed for the order of the processes",
    ),
    key("profile", Kind::Text, &["bisect", "gate", "run"], "a profile of the suite"),
    key("python", Kind::Path, &["bisect", "gate", "run", "warm"], "the interpreter of workloads"),
    key("prepare", Kind::Text, &["bisect", "gate"], "the command line that builds a worktree"),
    key("report", Kind::Text, &["cold", "run", "show", "warm"], "how much is printed"),
    key(
        "redact",
        Kind::Switch,
        &["cold", "run", "warm"],
        "whether names of the machine and its user are removed",
    ),
    key("runs-folder", Kind::Path, &[], "the folder for runs, unless FIRSTLIGHT_RUNS is set"),
    key(
        "cache-folder",
        Kind::Path,
        &[],
        "the folder for environments and hooks, unless FIRSTLIGHT_CACHE is set",
    ),
];

/// The commands that may have a table of their own.
pub fn commands() -> Vec<&'static str> {
    let mut names: Vec<&str> = KEYS.iter().flat_map(|key| key.commands).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A default from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static Key,
    /// The only command it is for; none if it stands outside of a command's table.
    pub command: Option<&'static str>,
    /// As they would be typed.
    pub values: Vec<String>,
    pub line: usize,
}

/// The defaults of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub settings: Vec<Setting>,
}

#[derive(Deserialize)]
struct Project {
    tool: Option<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    firstlight: Option<Table>,
}

/// Keys with their places, in the order of the file.
struct Table(Vec<(Spanned<String>, Entry)>);

enum Entry {
    /// As they would be typed.
    Values(Vec<Typed>),
    Table(Table),
}

/// A value with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Typed {
    Text(String),
    Number(String),
    Switch(bool),
}

impl Config {
    /// Reads the text of a `firstlight.toml`.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        let table: Table =
            toml::from_str(text).map_err(|error| SuiteError::from_toml(text, &error))?;
        Self::from_table(text, table)
    }

    /// Reads the text of a `pyproject.toml`; none if it says nothing about firstlight.
    pub fn parse_project(text: &str) -> Result<Option<Self>, SuiteError> {
        let project: Project =
            toml::from_str(text).map_err(|error| SuiteError::from_toml(text, &error))?;
        let table = project.tool.and_then(|tool| tool.firstlight);
        table.map(|table| Self::from_table(text, table)).transpose()
    }

    fn from_table(text: &str, table: Table) -> Result<Self, SuiteError> {
        let mut settings = Vec::new();
        for (name, entry) in table.0 {
            match entry {
                Entry::Values(values) => settings.push(setting(text, &name, None, &values)?),
                Entry::Table(own) => {
                    let command = command(text, &name)?;
                    for (key, entry) in own.0 {
                        let Entry::Values(values) = entry else {
                            let message = format!("`{}` must not be a table", key.get_ref());
                            return Err(SuiteError::at(text, key.span().start, message));
                        };
                        settings.push(setting(text, &key, Some(command), &values)?);
                    }
                }
            }
        }
        Ok(Self { settings })
    }

    /// The default of an option of a command; its own table counts more than the rest of the file.
    pub fn setting(&self, command: &str, key: &str) -> Option<&Setting> {
        let own = |wanted: Option<&str>| {
            self.settings.iter().find(|one| one.key.name == key && one.command == wanted)
        };
        own(Some(command)).or_else(|| own(None))
    }
}

fn command(text: &str, name: &Spanned<String>) -> Result<&'static str, SuiteError> {
    let known = commands();
    let found = known.iter().find(|known| **known == name.get_ref().as_str());
    found.copied().ok_or_else(|| {
        let message =
            format!("unknown command `{}`, expected one of {}", name.get_ref(), known.join(", "));
        unknown(text, name, message, &known)
    })
}

fn setting(
    text: &str,
    name: &Spanned<String>,
    command: Option<&'static str>,
    values: &[Typed],
) -> Result<Setting, SuiteError> {
    let at = |message: String| SuiteError::at(text, name.span().start, message);
    let applies = |key: &&Key| command.is_none_or(|command| key.commands.contains(&command));
    let known: Vec<&str> = KEYS.iter().filter(applies).map(|key| key.name).collect();
    let Some(key) = KEYS.iter().filter(applies).find(|key| key.name == name.get_ref()) else {
        let whose = command.map_or_else(String::new, |command| format!(" of `{command}`"));
        let message = format!(
            "unknown key `{}`{whose}, expected one of {}",
            name.get_ref(),
            known.join(", ")
        );
        return Err(unknown(text, name, message, &known));
    };
    if let Some(wanted) = mismatch(key.kind, values) {
        return Err(at(format!("`{}` must be {wanted}", key.name)));
    }
    let values = values.iter().map(Typed::as_typed).collect();
    Ok(Setting { key, command, values, line: at(String::new()).line })
}

fn unknown(text: &str, name: &Spanned<String>, message: String, known: &[&str]) -> SuiteError {
    let hint = nearest(name.get_ref(), known).map(|name| format!("did you mean `{name}`?"));
    SuiteError::at(text, name.span().start, message).with_hint(hint)
}

/// The expected type, if the values do not have it.
fn mismatch(kind: Kind, values: &[Typed]) -> Option<&'static str> {
    let all = |fits: fn(&Typed) -> bool| !values.is_empty() && values.iter().all(fits);
    let text = |value: &Typed| matches!(value, Typed::Text(_));
    let number =
        |value: &Typed| matches!(value, Typed::Number(n) if n.bytes().all(|b| b.is_ascii_digit()));
    let margin = |value: &Typed| !matches!(value, Typed::Switch(_));
    let (fits, wanted) = match kind {
        Kind::Number => (all(number) && values.len() == 1, "a whole number"),
        Kind::Margin => (all(margin), "a fraction such as \"5%\" or 0.05"),
        Kind::Text => (all(text) && values.len() == 1, "a text"),
        Kind::Texts => (all(text), "a text, or a list of texts"),
        Kind::Path => (all(text) && values.len() == 1, "a path"),
        Kind::Switch => {
            (all(|value| matches!(value, Typed::Switch(_))) && values.len() == 1, "true or false")
        }
    };
    (!fits).then_some(wanted)
}

impl Typed {
    fn as_typed(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(text) => text.clone(),
            Self::Switch(value) => value.to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Table(entries))
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list or a table")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Entry, E> {
        Ok(Entry::Values(vec![Typed::Switch(value)]))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Entry, E> {
        Ok(Entry::Values(vec![Typed::Number(value.to_string())]))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Entry, E> {
        Ok(Entry::Values(vec![Typed::Number(value.to_string())]))
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Values(vec![Typed::Text(text.to_owned())]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
        let mut values = Vec::new();
        while let Some(entry) = list.next_element()? {
            match entry {
                Entry::Values(one) if one.len() == 1 => values.extend(one),
                Entry::Values(_) | Entry::Table(_) => {
                    return Err(de::Error::custom("a list holds texts and numbers"));
                }
            }
        }
        Ok(Entry::Values(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
        TableVisitor.visit_map(map).map(Entry::Table)
    }
}

impl JsonSchema for Config {
    fn schema_name() -> Cow<'static, str> {
        "Config".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties = |command: Option<&str>| -> Map<String, Value> {
            let applies =
                |key: &&Key| command.is_none_or(|command| key.commands.contains(&command));
            KEYS.iter().filter(applies).map(|key| (key.name.to_owned(), described(key))).collect()
        };
        let mut all = properties(None);
        for command in commands() {
            let table = json!({
                "description": format!("Defaults of `firstlight {command}` alone."),
                "type": "object",
                "properties": properties(Some(command)),
                "additionalProperties": false,
            });
            all.insert(command.to_owned(), table);
        }
        let schema = json!({
            "description": "`firstlight.toml`, or `[tool.firstlight]` in `pyproject.toml`: defaults for options.",
            "type": "object",
            "properties": all,
            "additionalProperties": false,
        });
        Schema::try_from(schema).expect("an object is a schema")
    }
}

/// A key's schema.
fn described(key: &Key) -> Value {
    let text = json!({ "type": "string" });
    let fraction = json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1 });
    let mut schema = match key.kind {
        Kind::Number => json!({ "type": "integer", "minimum": 0 }),
        Kind::Text | Kind::Path => text,
        Kind::Texts => {
            json!({ "anyOf": [text, { "type": "array", "items": text, "minItems": 1 }] })
        }
        Kind::Margin => {
            let one = json!({ "anyOf": [text, fraction] });
            json!({ "anyOf": [text, fraction, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Switch => json!({ "type": "boolean" }),
    };
    schema["description"] = key.about.into();
    schema
}

#[cfg(test)]
mod tests {
    use super::{Config, KEYS, commands};

    fn values(config: &Config, command: &str, key: &str) -> Vec<String> {
        config.setting(command, key).map(|one| one.values.clone()).unwrap_or_default()
    }

    #[test]
    fn a_commands_own_table_counts_more_than_the_rest() {
        let text = "margin = 0.05\nseed = 7\ncache = [\"clean\", \"primed\"]\nredact = true\n\
                    [gate]\nmargin = [\"2%\", \"mlp=5%\"]\nprocesses = 30\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(values(&config, "gate", "margin"), ["2%", "mlp=5%"]);
        assert_eq!(values(&config, "compare", "margin"), ["0.05"]);
        assert_eq!(values(&config, "gate", "seed"), ["7"]);
        assert_eq!(values(&config, "cold", "cache"), ["clean", "primed"]);
        assert_eq!(values(&config, "cold", "redact"), ["true"]);
        assert!(config.setting("run", "processes").is_none());
        assert_eq!(config.setting("gate", "processes").unwrap().line, 7);
    }

    #[test]
    fn a_table_of_a_project_is_read_with_the_lines_of_its_file() {
        let text = "[project]\nname = \"x\"\n[tool.ruff]\nline-length = 100\n\
                    [tool.firstlight]\nmargin = \"5%\"\n[tool.firstlight.gate]\nseed = 3\n";
        let config = Config::parse_project(text).unwrap().unwrap();
        assert_eq!(config.setting("gate", "margin").unwrap().line, 6);
        assert_eq!(config.setting("gate", "seed").unwrap().line, 8);
        assert_eq!(Config::parse_project("[project]\nname = \"x\"\n").unwrap(), None);
        assert!(Config::parse_project("[project\n").is_err());
    }

    #[test]
    fn what_is_unknown_or_of_another_type_is_refused_with_its_line() {
        for (text, message, hint) in [
            (
                "\nmargn = 0.05\n",
                "line 2: unknown key `margn`, expected one of margin",
                Some("did you mean `margin`?"),
            ),
            (
                "[gates]\nmargin = 0.05\n",
                "line 1: unknown command `gates`, expected one of bisect",
                Some("did you mean `gate`?"),
            ),
            ("[gate]\n\nruns = 3\n", "line 3: unknown key `runs` of `gate`", None),
            ("seed = \"x\"\n", "line 1: `seed` must be a whole number", None),
            ("seed = -1\n", "line 1: `seed` must be a whole number", None),
            ("timeout = 60\n", "line 1: `timeout` must be a text", None),
            ("cache = []\n", "line 1: `cache` must be a text, or a list of texts", None),
            ("[gate.margin]\nx = 1\n", "line 1: `margin` must not be a table", None),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.to_string().starts_with(message), "{text}: {error}");
            if hint.is_some() {
                assert_eq!(error.hint.as_deref(), hint, "{text}");
            }
        }
    }

    #[test]
    fn no_key_is_named_like_a_command() {
        assert!(KEYS.iter().all(|key| !commands().contains(&key.name)));
        assert!(commands().contains(&"gate"));
    }
}
