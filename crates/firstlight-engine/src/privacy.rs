//! Finds private data of the machine and its user in a snapshot, and removes it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::{Privacy, RAW, SCHEMAS};
use firstlight_schema::variables;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::EngineError;
use crate::secrets::REDACTED;
use crate::snapshot::Files;
use crate::store::hex;

const TEMPORARY: &str = "(tmp)";

/// A name that distinguishes machines without identifying them.
pub fn pseudonym(name: &str) -> String {
    const DIGITS: usize = 12;
    format!("node-{}", &hex(&Sha256::digest(name))[..DIGITS])
}

/// Whether part of this word was redacted, so that it cannot be started.
pub fn is_redacted(word: &str) -> bool {
    let marks = [REDACTED, TEMPORARY, "(host)", "(user)"];
    let home = word == "~" || word.starts_with("~/") || word.contains("=~");
    home || marks.iter().any(|mark| word.contains(mark))
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
    /// The names of this machine and its current user.
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
        // The names of cases and arms belong to the suite, even if a user has the same name.
        let subject = record.subject.take();
        RawRecord { subject, ..self.redact_document(record) }
    }

    /// The document without the names of the machine, its user and its folders.
    pub fn redact_document<T: Serialize + DeserializeOwned>(&self, document: T) -> T {
        let mut text = serde_json::to_string(&document).expect("documents have only plain fields");
        for (found, instead) in self.names() {
            let quoted = serde_json::to_string(found).expect("a text is a value");
            text = replaced(&text, quoted.trim_matches('"'), instead);
        }
        // A name that is also a word of the format cannot be redacted.
        serde_json::from_str(&text).unwrap_or(document)
    }

    /// A word of a command without the names of the machine, its user and its folders.
    pub fn redact_word(&self, word: &str) -> String {
        let names = self.names().into_iter();
        names.fold(word.to_owned(), |text, (found, instead)| replaced(&text, found, instead))
    }

    /// The redacted names, longer ones first, and their replacements.
    fn names(&self) -> Vec<(&String, &'static str)> {
        let all = [
            (Some(&self.temporary), TEMPORARY),
            (self.home.as_ref(), "~"),
            (self.host.as_ref(), "(host)"),
            (self.user.as_ref(), "(user)"),
        ];
        let mut names: Vec<_> =
            all.into_iter().filter_map(|(found, instead)| Some((found?, instead))).collect();
        names.sort_by_key(|(found, _)| std::cmp::Reverse(found.len()));
        names
    }

    /// Finds private data in a snapshot's files. Files named in `large` are read from the folder piece by
    /// piece.
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

    /// Lines are searched one by one; a long line in pieces that overlap by more than a name.
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

/// Replaces a name in a text. A folder is replaced only where its name ends: `/tmp` is not a part of
/// `/tmpfiles`.
fn replaced(text: &str, name: &str, instead: &str) -> String {
    if !name.starts_with('/') {
        return text.replace(name, instead);
    }
    let goes_on = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut parts = text.split(name);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str(if part.starts_with(goes_on) { name } else { instead });
        result.push_str(part);
    }
    result
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
    fn longer_names_go_first_and_folders_end_where_their_names_do() {
        let identity = Identity {
            host: Some("box".to_owned()),
            user: Some("somebody".to_owned()),
            home: Some("/tmp/homes/somebody".to_owned()),
            temporary: "/tmp".to_owned(),
        };
        for (word, kept) in [
            ("/tmp/homes/somebody/f.py:f", "~/f.py:f"),
            ("/tmp/tmp.x/a", "(tmp)/tmp.x/a"),
            ("/tmpfiles/box", "/tmpfiles/(host)"),
            ("--home=/tmp/homes/somebody", "--home=~"),
            ("/srv/somebody", "/srv/(user)"),
        ] {
            assert_eq!(identity.redact_word(word), kept);
        }
    }
}
