//! Recognises secrets: values of options such as `--token`, keys of well-known services, passwords in web
//! addresses. They are removed from recorded commands. A suite's files are published byte for byte, so a
//! suite with a secret is refused.

use std::collections::BTreeMap;

use firstlight_schema::suite::{EnvironmentFile, Program, Scalar, SuiteFile};

use crate::EngineError;
use crate::packing::Packed;

/// Replaces a secret.
pub const REDACTED: &str = "(redacted)";
/// Parts of the names of options and variables whose values are secrets.
const SECRET_NAMES: [&str; 10] = [
    "apikey",
    "authorization",
    "credential",
    "creds",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];
/// Ends of names about keys whose values are not secrets themselves.
const HARMLESS: [&str; 5] = ["file", "maxtokens", "path", "tokenizer", "tokens"];
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
const SHORTEST_SECRET: usize = 8;
/// A name in a program may begin like a key. A key has a stretch of letters and digits of this length.
const KEY_STRETCH: usize = 16;
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// The words of a command without the values of options such as `--token` and without keys, also inside
/// of words that are scripts.
pub fn without_secrets(words: &[String]) -> Vec<String> {
    let mut hide_next = false;
    words
        .iter()
        .map(|word| {
            let is_script = word.contains(char::is_whitespace) && !hide_next;
            without_keys(&if is_script { script(word) } else { published(word, &mut hide_next) })
        })
        .collect()
}

/// A script with the values of its options taken out.
fn script(text: &str) -> String {
    let mut hide_next = false;
    let pieces = text.split_inclusive(char::is_whitespace).map(|piece| {
        let quotes = |c: char| c.is_whitespace() || "'\"`;,()[]".contains(c);
        let core = piece.trim_matches(quotes);
        if core.is_empty() {
            return piece.to_owned();
        }
        piece.replacen(core, &published(core, &mut hide_next), 1)
    });
    pieces.collect()
}

/// One word, after a word that may have announced a secret.
fn published(word: &str, hide_next: &mut bool) -> String {
    let hide = std::mem::take(hide_next) && !word.starts_with("--") && !is_placeholder(word);
    if hide || is_secret(word) {
        return REDACTED.to_owned();
    }
    match word.split_once('=') {
        Some((name, value)) if is_secret(value) || is_named_secret(name, value) => {
            format!("{name}={REDACTED}")
        }
        Some(_) => word.to_owned(),
        None => {
            *hide_next = word.starts_with('-') && is_secret_name(word);
            word.to_owned()
        }
    }
}

/// A text without the keys in it.
pub fn without_keys(text: &str) -> String {
    keys(text).into_iter().fold(text.to_owned(), |text, key| text.replace(&key, REDACTED))
}

/// Whether a setting of this name and value is a secret.
fn is_named_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) && !is_placeholder(value)
}

fn is_secret_name(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    !HARMLESS.iter().any(|known| plain.ends_with(known))
        && (plain.ends_with("auth") || SECRET_NAMES.iter().any(|secret| plain.contains(secret)))
}

/// A value that stands for another one: a variable, a template, a token of a language model, nothing.
fn is_placeholder(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'', ')', ',']);
    let words = ["", "None", "null", "true", "false", "True", "False", REDACTED];
    let enclosed = [("<", ">"), ("{", "}"), ("[", "]"), ("${", "}"), ("%(", ")s")];
    let variable = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    words.contains(&value)
        || value.strip_prefix('$').is_some_and(variable)
        || enclosed.iter().any(|(begin, end)| value.starts_with(begin) && value.ends_with(end))
}

/// Whether a value is a key of a well-known service, or a web address with a password in it.
pub(crate) fn is_secret(value: &str) -> bool {
    let begins =
        |start: &str| value.starts_with(start) && value.len() >= SHORTEST_SECRET + start.len();
    SECRET_VALUES.iter().any(|start| begins(start)) || has_login(value)
}

fn has_login(value: &str) -> bool {
    let address = value.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let login = address.and_then(|host| host.rsplit_once('@'));
    let password = login.and_then(|(user, _)| user.split_once(':'));
    password.is_some_and(|(_, password)| !is_placeholder(password))
}

/// The keys, private keys and addresses with a password in a text such as a program.
fn keys(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c));
    for word in text.split(ends) {
        let begins = |start: &&&str| word.starts_with(**start);
        if SECRET_VALUES.iter().find(begins).is_some_and(|start| is_key(word, start)) {
            found.push(word.to_owned());
        }
    }
    let ends = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
    found.extend(text.split(ends).filter(|word| has_login(word)).map(str::to_owned));
    if text.contains(PRIVATE_KEY) {
        found.push(PRIVATE_KEY.to_owned());
    }
    found
}

fn is_key(word: &str, start: &str) -> bool {
    let stretch = |part: &str| {
        part.len() >= KEY_STRETCH
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let rest = &word[start.len()..];
    // A web token is a text in base 64, as much else is, but it has two parts that begin so.
    let web_token = start != "eyJ" || rest.contains(".eyJ");
    web_token && rest.split(['_', '-', '.']).any(stretch)
}

/// An error if a file of the suite holds a secret.
pub(crate) fn refuse(suite: &SuiteFile, files: &Packed) -> Result<(), EngineError> {
    if let Some(what) = in_settings(suite) {
        return Err(EngineError::SecretInSuite { place: "suite.toml".to_owned(), what });
    }
    for (name, content) in files {
        let Ok(text) = str::from_utf8(content) else { continue };
        if let Some(key) = keys(text).first() {
            let line = text[..text.find(key.as_str()).unwrap_or(0)].lines().count().max(1);
            let what = if key == PRIVATE_KEY {
                "a private key".to_owned()
            } else if has_login(key) {
                "a web address with a password".to_owned()
            } else {
                let start = SECRET_VALUES.iter().find(|start| key.starts_with(**start));
                format!("a key that starts with `{}`", start.copied().unwrap_or_default())
            };
            return Err(EngineError::SecretInSuite { place: format!("{name}:{line}"), what });
        }
    }
    Ok(())
}

/// An error if a parameter that was typed is a secret: it becomes part of the result.
pub fn refuse_parameters(typed: &BTreeMap<String, Scalar>) -> Result<(), EngineError> {
    match typed.iter().find_map(|(name, value)| scalar(name, value)) {
        Some(what) => Err(EngineError::SecretInSuite { place: "--set".to_owned(), what }),
        None => Ok(()),
    }
}

/// The setting of a suite that holds a secret, without its value.
fn in_settings(suite: &SuiteFile) -> Option<String> {
    let mut scalars = vec![&suite.parameters];
    let mut variables = Vec::new();
    for profile in suite.profiles.values() {
        scalars.push(&profile.parameters);
        variables.push(&profile.variables);
    }
    scalars.extend(suite.cases.iter().map(|case| &case.parameters));
    if let EnvironmentFile::Provisioned(wanted) = &suite.environment {
        variables.push(&wanted.variables);
    }
    for arm in &suite.arms {
        if let Program::Command(words) | Program::Process(words) = arm.program() {
            let kept = without_secrets(words);
            let at = words.iter().zip(&kept).position(|(word, kept)| word != kept);
            if let Some(at) = at {
                let before = at.checked_sub(1).and_then(|before| words.get(before));
                let option = before.filter(|_| kept[at] == REDACTED).filter(|w| w.starts_with('-'));
                let arm = arm.name.get_ref();
                return Some(match option {
                    Some(option) => format!("the value of `{option}` in arm `{arm}`"),
                    None => format!("word {} of the command of arm `{arm}`", at + 1),
                });
            }
        }
        scalars.push(&arm.options);
        variables.push(&arm.variables);
    }
    let variable = |(name, value): (&String, &String)| {
        let secret = is_named_secret(name, value) || is_secret(value);
        secret.then(|| format!("the value of `{name}`"))
    };
    let of_scalars = scalars.into_iter().flatten().find_map(|(name, value)| scalar(name, value));
    of_scalars.or_else(|| variables.into_iter().flatten().find_map(variable))
}

fn scalar(name: &str, value: &Scalar) -> Option<String> {
    let Scalar::Text(text) = value else { return None };
    let secret = is_named_secret(name, text) || is_secret(text);
    secret.then(|| format!("the value of `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a line; `|` stands for a blank inside of a word.
    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(|word| word.replace('|', " ")).collect()
    }

    #[test]
    fn values_of_secret_options_and_keys_are_taken_out_of_a_command() {
        for (typed, kept) in [
            ("train.py --token abc --epochs 3", "train.py --token (redacted) --epochs 3"),
            ("a --api-key=xyz b", "a --api-key=(redacted) b"),
            ("a --api_key xyz", "a --api_key (redacted)"),
            ("a --password --verbose", "a --password --verbose"),
            ("a --token two|words b", "a --token (redacted) b"),
            ("HF_TOKEN=abc run", "HF_TOKEN=(redacted) run"),
            ("login ghp_0123456789abcdef", "login (redacted)"),
            ("get https://me:pw@host/x", "get (redacted)"),
            ("gpt --max-tokens 64 --tokenizer bpe", "gpt --max-tokens 64 --tokenizer bpe"),
            ("a --tokens=64", "a --tokens=64"),
            ("a --author me --auth me", "a --author me --auth (redacted)"),
            ("--args 'hf_abcdefgh01234567890'", "--args '(redacted)'"),
            ("a --token-file key.txt", "a --token-file key.txt"),
            ("a --token $TOKEN", "a --token $TOKEN"),
            ("a --password $ecret", "a --password (redacted)"),
            (
                "sh -c HF_TOKEN=abc|run|--token|'xyz'",
                "sh -c HF_TOKEN=(redacted)|run|--token|'(redacted)'",
            ),
            ("sh -c f(token=None)|x", "sh -c f(token=None)|x"),
            ("sh -c f('hf_abcdefgh01234567890')|x", "sh -c f('(redacted)')|x"),
        ] {
            assert_eq!(without_secrets(&words(typed)), words(kept), "{typed}");
        }
    }

    #[test]
    fn keys_are_found_in_a_program_and_its_names_are_not_taken_for_keys() {
        for text in [
            "x = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'",
            "--extra-index-url https://me:planted@host/simple",
            "sk-proj-abcdefghijklmnop0123",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc",
            "-----BEGIN RSA PRIVATE KEY-----",
        ] {
            assert_eq!(keys(text).len(), 1, "{text}");
            assert!(without_keys(text).contains(REDACTED));
        }
        for text in [
            "hf_transformers_config_v2 = hf_model(sk-learn, asia)",
            "eyJhbGciOiJIUzI1NiJ9abcdefgh",
            "https://host/a:b@c and https://${USER}:${TOKEN}@host and f'https://{user}:{token}@{host}'",
            "numpy==2.0 --hash=sha256:0123456789abcdef0123456789abcdef",
        ] {
            assert_eq!(keys(text), Vec::<String>::new());
        }
    }

    #[test]
    fn a_suite_with_a_secret_is_refused_and_the_secret_is_not_repeated() {
        let base = "name = \"s\"\nregimes = [\"cold-clean\"]\n[[case]]\nname = \"c\"\n";
        let arm = "[[arm]]\nname = \"a\"\n";
        for (text, place) in [
            (
                format!("{base}{arm}process = [\"p\", \"--token\", \"planted\"]\n"),
                "`--token` in arm `a`",
            ),
            (format!("{base}{arm}command = [\"p\", \"--api-key=planted\"]\n"), "word 2"),
            (format!("{base}{arm}process = [\"sh\", \"-c\", \"p --token planted\"]\n"), "word 3"),
            (
                format!("{base}{arm}workload = \"w\"\nvariables = {{ HF_TOKEN = \"planted\" }}\n"),
                "`HF_TOKEN`",
            ),
            (
                format!("{base}{arm}workload = \"w\"\noptions = {{ password = \"planted\" }}\n"),
                "`password`",
            ),
            (
                format!("{base}parameters = {{ secret = \"planted\" }}\n{arm}workload = \"w\"\n"),
                "`secret`",
            ),
        ] {
            let suite = SuiteFile::parse(&text).unwrap();
            let error = refuse(&suite, &Vec::new()).unwrap_err();
            let text = format!("{error} {:?}", error.hint());
            assert!(text.contains(place) && !text.contains("planted"), "{text}");
        }
        let harmless = format!(
            "{base}parameters = {{ max-tokens = 8, pad-token = \"<pad>\", token = 3 }}\n{arm}\
             process = [\"p\", \"--token\", \"$TOKEN\", \"--tokenizer\", \"bpe\"]\n"
        );
        let suite = SuiteFile::parse(&harmless).unwrap();
        assert!(refuse(&suite, &vec![("w.py".to_owned(), vec![0xff])]).is_ok());
        let planted = b"a = 1\nb = 'ghp_0123456789abcdefghij'\n".to_vec();
        let error = refuse(&suite, &vec![("w.py".to_owned(), planted)]).unwrap_err().to_string();
        assert!(error.contains("w.py:2") && error.contains("`ghp_`"), "{error}");
        assert!(!error.contains("0123"), "{error}");
    }
}
