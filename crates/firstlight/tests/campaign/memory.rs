//! Archives of ten megabytes that would take gigabytes if nothing bounded them.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use tar::{Builder, Header};

use super::mutations::archive;
use super::random::Random;
use super::stage::Stage;
use super::{Row, Size};

/// What `verify` may take at most, in kilobytes.
const MOST: u64 = 512 << 10;

pub(super) fn memory(stage: &Stage<'_>, size: Size) -> Row {
    let files = ["raw.jsonl", "result.json", "manifest.json", "validation.json"];
    let texts: [fn(&mut Random) -> String; 5] = [records, numbers, objects, lines, strings];
    let kinds = if size.archives < Size::FULL.archives { 1 } else { texts.len() };
    let good = match archive(stage) {
        Ok(good) => good,
        Err(why) => return Row { tried: 1, lost: vec![why], ..Row::default() },
    };
    let peak = std::sync::atomic::AtomicU64::new(0);
    let row = stage.cases(files.len() * kinds, |number, random| {
        let place = stage.place();
        let path = place.path().join("large.tar.zst");
        let text = texts[number / files.len()](random);
        replace(&good, files[number % files.len()], text.as_bytes(), &path)?;
        let mut command = place.command(&stage.programs.firstlight);
        command.args(["verify", "large.tar.zst"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut most = 0;
        let status = loop {
            most = most.max(resident(child.id()));
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        peak.fetch_max(most, std::sync::atomic::Ordering::Relaxed);
        if most > MOST {
            return Err(format!("{}: {most} kB of memory", files[number % files.len()]));
        }
        match status.code() {
            Some(6) => Ok(()),
            _ => Err(format!("{}: {status}", files[number % files.len()])),
        }
    });
    let peak = peak.into_inner() / 1024;
    Row { note: format!("at most {peak} MB for an archive of 10 MB"), ..row }
}

fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// The archive with other content in one of its files.
fn replace(good: &[u8], name: &str, content: &[u8], target: &Path) -> Result<(), String> {
    let problem = |error: std::io::Error| error.to_string();
    let tar = zstd::decode_all(good).map_err(problem)?;
    let file = fs::File::create(target).map_err(problem)?;
    let mut builder = Builder::new(zstd::Encoder::new(file, 1).map_err(problem)?);
    let mut archive = tar::Archive::new(tar.as_slice());
    for entry in archive.entries().map_err(problem)? {
        let mut entry = entry.map_err(problem)?;
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        let path = entry.path().map_err(problem)?.into_owned();
        let mut own = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut own).map_err(problem)?;
        let own = if path == Path::new(name) { content } else { own.as_slice() };
        header.set_size(own.len() as u64);
        builder.append_data(&mut header, path, own).map_err(problem)?;
    }
    builder.into_inner().and_then(zstd::Encoder::finish).map(|_| ()).map_err(problem)
}

/// Whole records that each pass for one, and together take too much.
fn records(random: &mut Random) -> String {
    let mut text = String::new();
    while text.len() < 60 << 20 {
        text.push_str(RECORD);
        for _ in 0..1_200_000 {
            text.push(char::from(b'0' + u8::try_from(random.below(10)).expect("a digit")));
            text.push(',');
        }
        text.push_str("1]}}\n");
    }
    text
}

const RECORD: &str = r#"{"subject":null,"sample":{"number":1,"role":"measured","started":"","spawn":1,"exec":1,"reaped":1,"outcome":{"kind":"completed"},"messages":[],"usage":{"user-ns":0,"system-ns":0,"minor-faults":0,"major-faults":0,"voluntary-switches":0,"involuntary-switches":0,"max-rss-bytes":0},"machine-busy-ns":null,"caches":[],"streams":{"stdout-bytes":0,"stderr-bytes":0,"stdout-tail":"","stderr-tail":""},"survivors":0,"opened":["#;

/// Random digits pack to less than half of their size.
fn numbers(random: &mut Random) -> String {
    let mut text = "{\"sample\":{\"opened\":[".to_owned();
    while text.len() < 20 << 20 {
        text.push(char::from(b'0' + u8::try_from(random.below(10)).expect("a digit")));
        text.push(',');
    }
    text + "1]}}\n"
}

fn objects(_: &mut Random) -> String {
    format!("{{\"a\":[{}{{}}]}}\n", "{},".repeat(40 << 20))
}

fn lines(_: &mut Random) -> String {
    "{\"subject\":null,\"sample\":{}}\n".repeat(4 << 20)
}

fn strings(_: &mut Random) -> String {
    format!("{{\"rules\":[{}\"\"]}}\n", "\"\",".repeat(30 << 20))
}
