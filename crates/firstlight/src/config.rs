//! Finds the configuration file and makes its values the defaults of the options. Flags and environment
//! variables count more. Measured processes never see the file.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::{Command, FromArgMatches as _};
use firstlight_engine::folders::{Folders, set_configured};
use firstlight_schema::config::{Config, FILE, KEYS, Kind, PROJECT_FILE, Setting};
use firstlight_schema::variables;

use crate::args::Args;
use crate::error::Error;

/// A file that was found.
struct Found {
    path: PathBuf,
    config: Config,
}

/// The arguments with the defaults of the configuration file; the given ones have those of firstlight.
pub(crate) fn configured(
    given: Args,
    interface: &Command,
    arguments: &[OsString],
) -> Result<Args, Error> {
    if given.no_config {
        return Ok(given);
    }
    let Some(found) = find()? else { return Ok(given) };
    set_configured(Folders {
        runs: found.folder("runs-folder"),
        cache: found.folder("cache-folder"),
    });
    let matches = interface.clone().try_get_matches_from(arguments);
    let Some(command) = matches.as_ref().ok().and_then(clap::ArgMatches::subcommand_name) else {
        return Ok(given);
    };
    let settings = found.settings(command);
    match parsed(interface, command, &found, &settings, arguments) {
        Ok(args) => Ok(args),
        Err(error) => Err(found.wrong_value(interface, command, &settings, arguments, &error)),
    }
}

/// The arguments, with the settings as defaults.
fn parsed(
    interface: &Command,
    command: &str,
    found: &Found,
    settings: &[&Setting],
    arguments: &[OsString],
) -> Result<Args, clap::Error> {
    let interface = interface.clone().mut_subcommand(command, |mut sub| {
        for setting in settings {
            let named = |arg: &&clap::Arg| arg.get_long() == Some(setting.key.name);
            let Some(id) = sub.get_arguments().find(named).map(|arg| arg.get_id().clone()) else {
                continue;
            };
            let values = found.values(setting);
            sub = sub.mut_arg(id, |arg| arg.default_values(values));
        }
        sub
    });
    Args::from_arg_matches(&interface.try_get_matches_from(arguments)?)
}

impl Found {
    /// The settings in the file that apply to a command.
    fn settings(&self, command: &str) -> Vec<&Setting> {
        let keys = KEYS.iter().filter(|key| key.commands.contains(&command));
        keys.filter_map(|key| self.config.setting(command, key.name)).collect()
    }

    /// The values as they would be typed. clap keeps defaults for as long as the program runs.
    fn values(&self, setting: &Setting) -> Vec<&'static str> {
        let typed = |value: &String| match setting.key.kind {
            // A program without a folder is looked up on the path.
            Kind::Path if value.contains('/') => self.below(value).to_string_lossy().into_owned(),
            Kind::Path | Kind::Number | Kind::Margin | Kind::Text | Kind::Texts | Kind::Switch => {
                value.clone()
            }
        };
        setting.values.iter().map(|value| &*Box::leak(typed(value).into_boxed_str())).collect()
    }

    fn folder(&self, key: &str) -> Option<PathBuf> {
        let setting = self.config.settings.iter().find(|setting| setting.key.name == key)?;
        setting.values.first().map(|value| self.below(value))
    }

    /// A path relative to the folder of the file.
    fn below(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// The setting that an option refuses, with its line.
    fn wrong_value(
        &self,
        interface: &Command,
        command: &str,
        settings: &[&Setting],
        arguments: &[OsString],
        error: &clap::Error,
    ) -> Error {
        let refused = |setting: &&&Setting| {
            parsed(interface, command, self, &[**setting], arguments).is_err()
        };
        let line = settings.iter().find(refused).map_or(1, |setting| setting.line);
        let text = error.to_string();
        // The values that are possible stand on a line of their own.
        let lines: Vec<&str> =
            text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let message = lines.join(" ").trim_start_matches("error: ").to_owned();
        Error::Config {
            path: self.path.clone(),
            message: format!("line {line}: {message}"),
            hint: None,
        }
    }
}

/// The file that `FIRSTLIGHT_CONFIG` names, or the nearest one in the current folder and above.
fn find() -> Result<Option<Found>, Error> {
    if let Some(named) = std::env::var_os(variables::CONFIG) {
        if named.is_empty() {
            return Ok(None);
        }
        let path = PathBuf::from(named);
        let text = read(&path)?;
        let config = parse(&path, &text)?.unwrap_or_default();
        return Ok(Some(Found { path: absolute(path), config }));
    }
    let Ok(here) = std::env::current_dir() else { return Ok(None) };
    for folder in here.ancestors() {
        for name in [FILE, PROJECT_FILE] {
            let path = folder.join(name);
            if !path.is_file() {
                continue;
            }
            let text = read(&path)?;
            let mentions = name == FILE || text.contains("firstlight");
            let Some(config) = mentions.then(|| parse(&path, &text)).transpose()?.flatten() else {
                continue;
            };
            refuse_foreign(&path)?;
            return Ok(Some(Found { path, config }));
        }
    }
    Ok(None)
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn read(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
    String::from_utf8(bytes).map_err(|error| Error::Config {
        path: path.to_owned(),
        message: format!("invalid UTF-8 at byte {}", error.utf8_error().valid_up_to()),
        hint: None,
    })
}

fn parse(path: &Path, text: &str) -> Result<Option<Config>, Error> {
    let parsed = if path.file_name().is_some_and(|name| name == PROJECT_FILE) {
        Config::parse_project(text)
    } else {
        Config::parse(text).map(Some)
    };
    parsed.map_err(|error| Error::Config {
        path: path.to_owned(),
        message: error.to_string(),
        hint: error.hint,
    })
}

/// A file names programs to start, so one that somebody else left in a folder above is not obeyed.
fn refuse_foreign(path: &Path) -> Result<(), Error> {
    let known = fs::metadata(path).map_err(|error| Error::io("read", path, &error))?;
    let user = fs::metadata("/proc/self").map_or(0, |own| own.uid());
    if known.uid() == user || known.uid() == 0 {
        return Ok(());
    }
    Err(Error::ForeignConfig { path: path.to_owned() })
}
