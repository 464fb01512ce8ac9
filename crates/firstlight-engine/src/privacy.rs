//! What of a machine and its user ends up in a snapshot, and how it is kept out.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::{Privacy, RAW, SCHEMAS};
use firstlight_schema::variables;

use crate::EngineError;
use crate::snapshot::Files;

/// Replaces a secret.
pub const REDACTED: &str = "(redacted)";
const TEMPORARY: &str = "(tmp)";

/// Whether something was taken out of this word, so that it cannot be started.
pub fn is_redacted(word: &str) -> bool {
    let marks = [REDACTED, TEMPORARY, "(host)", "(user)"];
    word.starts_with("~/") || marks.iter().any(|mark| word.contains(mark))
}
/// Parts of the names of options and variables whose values are secrets.
const SECRET_NAMES: [&str; 10] = [
    "apikey",
    "auth",
    "credential",
    "creds",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];
/// How keys of well-known services begin.
const SECRET_VALUES: [&str; 14] = [
    "AIza",
    "AKIA",
    "ASIA",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "hf_",
    "sk-",
    "wandb_",
    "xoxb-",
    "xoxp-",
];
/// Options about keys that are not secrets themselves.
const HARMLESS: [&str; 3] = ["maxtokens", "tokenizer", "tokens"];
const SHORTEST_SECRET: usize = 8;

/// The words of a command without the values of options such as `--token` and without keys.
pub fn without_secrets(words: &[String]) -> Vec<String> {
    let mut hide_next = false;
    let mut kept = Vec::with_capacity(words.len());
    for word in words {
        let hide = std::mem::take(&mut hide_next) && !word.starts_with("--");
        if hide || is_secret(word) {
            kept.push(REDACTED.to_owned());
            continue;
        }
        match word.split_once('=') {
            Some((name, value)) if is_secret_name(name) || is_secret(value) => {
                kept.push(format!("{name}={REDACTED}"));
            }
            Some(_) => kept.push(word.clone()),
            None => {
                hide_next = word.starts_with('-') && is_secret_name(word);
                kept.push(word.clone());
            }
        }
    }
    kept
}

fn is_secret_name(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    !HARMLESS.iter().any(|known| plain.ends_with(known))
        && SECRET_NAMES.iter().any(|secret| plain.contains(secret))
}

/// Whether a value is a key of a well-known service, or a web address with a password in it.
pub(crate) fn is_secret(value: &str) -> bool {
    let begins =
        |start: &str| value.starts_with(start) && value.len() >= SHORTEST_SECRET + start.len();
    let address = value.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let login =
        address.and_then(|host| host.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'));
    SECRET_VALUES.iter().any(|start| begins(start)) || login
}

/// The names by which a machine and its user can be recognised.
#[derive(Clone, Debug)]
pub struct Identity {
    host: Option<String>,
    user: Option<String>,
    home: Option<String>,
    temporary: String,
}

impl Identity {
    /// Of this machine and whoever runs firstlight.
    pub fn here() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| value.len() > 2);
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let home = set(variables::HOME).filter(|home| PathBuf::from(home).components().count() > 2);
        Self {
            host: Some(host).filter(|host| host.len() > 2 && host != "localhost"),
            user: set("USER").or_else(|| set("LOGNAME")).filter(|user| user != "root"),
            home,
            temporary: std::env::temp_dir().to_string_lossy().into_owned(),
        }
    }

    /// The record without the names of the machine and its user, without folders and without output.
    pub(crate) fn redact(&self, record: &RawRecord) -> RawRecord {
        let mut record = record.clone();
        record.sample.streams.stdout_tail.clear();
        record.sample.streams.stderr_tail.clear();
        let mut text = serde_json::to_string(&record).expect("raw readings have only plain fields");
        for (found, instead) in self.names() {
            let quoted = serde_json::to_string(found).expect("a text is a value");
            text = text.replace(quoted.trim_matches('"'), instead);
        }
        // A name that is also a word of the protocol cannot be taken out.
        serde_json::from_str(&text).unwrap_or(record)
    }

    /// A word of a command without the names of the machine, its user and its folders.
    pub fn redact_word(&self, word: &str) -> String {
        self.names().fold(word.to_owned(), |text, (found, instead)| text.replace(found, instead))
    }

    /// What is taken out, longer names first, and what stands in its place.
    fn names(&self) -> impl Iterator<Item = (&String, &'static str)> {
        let all = [
            (Some(&self.temporary), TEMPORARY),
            (self.home.as_ref(), "~"),
            (self.host.as_ref(), "(host)"),
            (self.user.as_ref(), "(user)"),
        ];
        all.into_iter().filter_map(|(found, instead)| Some((found?, instead)))
    }

    /// What a snapshot's files give away. Those named by `large` are read piece by piece from the folder.
    pub(crate) fn found(
        &self,
        files: &Files,
        folder: &Path,
        large: &[&str],
    ) -> Result<Privacy, EngineError> {
        let mut found = Privacy::default();
        for (path, content) in files.iter().filter(|(path, _)| !path.starts_with(SCHEMAS)) {
            self.look(path, content, &mut found);
        }
        for name in large {
            let path = folder.join(name);
            let file = File::open(&path).map_err(EngineError::file("read", &path))?;
            self.look_through(name, BufReader::new(file), &mut found)
                .map_err(EngineError::file("read", &path))?;
        }
        Ok(found)
    }

    /// Lines are looked at one by one; a longer one in pieces that overlap by more than a name.
    fn look_through(
        &self,
        name: &str,
        mut file: impl BufRead,
        found: &mut Privacy,
    ) -> std::io::Result<()> {
        const PIECE: u64 = 4 << 20;
        const OVERLAP: usize = 4096;
        let mut piece = Vec::new();
        loop {
            let kept = piece.len();
            let read = file.by_ref().take(PIECE).read_until(b'\n', &mut piece)?;
            if read == 0 {
                return Ok(());
            }
            self.look(name, &piece, found);
            let whole_line = kept == 0 && piece.ends_with(b"\n");
            let overlap =
                if whole_line { piece.len() } else { piece.len().saturating_sub(OVERLAP) };
            piece.drain(..overlap);
            if piece.ends_with(b"\n") {
                piece.clear();
            }
        }
    }

    fn look(&self, path: &str, content: &[u8], found: &mut Privacy) {
        let holds = |name: &Option<String>| {
            name.as_ref().is_some_and(|name| !name.is_empty() && contains(content, name))
        };
        found.host_name |= holds(&self.host);
        found.user_name |= holds(&self.user);
        found.home_folder |= holds(&self.home);
        if path == RAW {
            let raw = String::from_utf8_lossy(content);
            found.paths += raw.matches("\"/").count() as u64;
            let written = |line: &&str| {
                line.contains("\"stderr-tail\":") && !line.contains("\"stderr-tail\":\"\"")
            };
            found.output += raw.lines().filter(written).count() as u64;
        }
    }
}

fn contains(content: &[u8], name: &str) -> bool {
    content.windows(name.len()).any(|window| window == name.as_bytes())
}

/// Private data in a snapshot, in a line.
pub fn describe(privacy: &Privacy) -> String {
    let yes = |there: bool| if there { "yes" } else { "no" };
    format!(
        "the snapshot contains: host name {}, user name {}, home folder {}, {} absolute paths, {} outputs of \
         failed processes",
        yes(privacy.host_name),
        yes(privacy.user_name),
        yes(privacy.home_folder),
        privacy.paths,
        privacy.output,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_options_and_keys_are_taken_out_of_a_command() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (typed, kept) in [
            ("train.py --token abc --epochs 3", "train.py --token (redacted) --epochs 3"),
            ("a --api-key=xyz b", "a --api-key=(redacted) b"),
            ("a --api_key xyz", "a --api_key (redacted)"),
            ("a --password --verbose", "a --password --verbose"),
            ("HF_TOKEN=abc run", "HF_TOKEN=(redacted) run"),
            ("login ghp_0123456789abcdef", "login (redacted)"),
            ("get https://me:pw@host/x", "get (redacted)"),
            ("gpt --max-tokens 64 --tokenizer bpe", "gpt --max-tokens 64 --tokenizer bpe"),
            ("a --tokens=64", "a --tokens=64"),
        ] {
            assert_eq!(without_secrets(&words(typed)), words(kept), "{typed}");
        }
    }
}
