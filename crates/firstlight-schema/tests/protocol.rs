//! The conversations in `fixtures/protocol`, which this side must accept or reject as marked.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use firstlight_schema::conversation::Conversation;
use firstlight_schema::message::Request;

fn fixtures(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/protocol").join(kind);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() > 5, "{} has conversations", folder.display());
    paths
}

/// Replays a conversation; returns the rejected line, if one was marked.
fn replay(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut conversation = Conversation::default();
    let mut refused = None;
    for (number, line) in (1..).zip(text.lines()) {
        let place = format!("{}:{number}", path.display());
        match line.split_once(' ') {
            Some((">", json)) => {
                let request: Request = serde_json::from_str(json).expect(&place);
                conversation.asked(&request);
            }
            Some(("<", json)) => {
                if let Err(error) = conversation.said(json.as_bytes()) {
                    panic!("{place}: {error}");
                }
            }
            Some(("!<", json)) => {
                let error = conversation.said(json.as_bytes()).expect_err(&place);
                refused = Some(error.to_string());
            }
            _ => {
                assert!(line.starts_with('#'), "{place}: `{line}` is not a line of a conversation");
            }
        }
    }
    refused
}

#[test]
fn every_good_conversation_is_accepted() {
    for path in fixtures("accept") {
        assert_eq!(replay(&path), None, "{}", path.display());
    }
}

#[test]
fn every_bad_conversation_is_rejected_at_the_marked_line() {
    for path in fixtures("refuse") {
        assert!(replay(&path).is_some(), "{} marks no line", path.display());
    }
}

#[test]
fn a_rejection_names_the_error() {
    let folder = fixtures("refuse")[0].parent().unwrap().to_owned();
    let reason = |name: &str| replay(&folder.join(name)).unwrap();
    assert_eq!(reason("before-hello.txt"), "`phase` came before hello");
    assert_eq!(reason("another-major.txt"), "the other side speaks protocol 2.0, this side 1.1");
    assert_eq!(
        reason("end-without-begin.txt"),
        "phase compile ends on thread 0 where it was not begun"
    );
    assert!(reason("not-json.txt").ends_with(": `hello there`"), "{}", reason("not-json.txt"));
}
