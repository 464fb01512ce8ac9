//! Archives of ten megabytes that would need gigabytes without limits.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use tar::{Builder, Header};

use super::mutations::archive;
use super::random::Random;
use super::stage::Stage;
use super::{Row, Size};

/// The memory limit of `verify`, in kilobytes.
const MOST: u64 = 512 << 10;

/// A check that takes longer than this is considered hanging.
const HANGS: Duration = Duration::from_mins(2);
/// Files with hostile content.
const FILES: [&str; 6] = [
    "raw.jsonl",
    "result.json",
    "manifest.json",
    "validation.json",
    "suite/suite.toml",
    "trace.json",
];

/// The version that the archive claims.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Claim {
    Known,
    Newer,
}

pub(super) fn memory(stage: &Stage<'_>, size: Size) -> Row {
    let texts: [fn(&mut Random) -> String; 7] =
        [records, numbers, objects, lines, strings, calls, phases];
    let kinds = if size.archives < Size::FULL.archives { 1 } else { texts.len() };
    let places: Vec<(&str, Claim)> = [Claim::Known, Claim::Newer]
        .into_iter()
        .flat_map(|claim| FILES.map(|file| (file, claim)))
        .collect();
    let good = match archive(stage) {
        Ok(good) => good,
        Err(why) => return Row { tried: 1, lost: vec![why], ..Row::default() },
    };
    let peak = std::sync::atomic::AtomicU64::new(0);
    let row = stage.cases(places.len() * kinds, |number, random| {
        let place = stage.place();
        let path = place.path().join("large.tar.zst");
        let (file, claim) = places[number % places.len()];
        let text = match file {
            "suite/suite.toml" => arms(number / places.len()),
            _ => texts[number / places.len()](random),
        };
        replace(&good, file, text.as_bytes(), claim, &path)?;
        let mut command = place.command(&stage.programs.firstlight);
        command.args(["verify", "large.tar.zst"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut most = 0;
        let began = Instant::now();
        let status = loop {
            most = most.max(resident(child.id()));
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None if began.elapsed() > HANGS => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("{file}, {claim:?}: it hangs"));
                }
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        peak.fetch_max(most, std::sync::atomic::Ordering::Relaxed);
        if most > MOST {
            return Err(format!("{file}, {claim:?}: {most} kB of memory"));
        }
        match status.code() {
            Some(6) => Ok(()),
            _ => Err(format!("{file}, {claim:?}: {status}")),
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

/// The archive with other content in one of its files, or with an added file.
fn replace(
    good: &[u8],
    name: &str,
    content: &[u8],
    claim: Claim,
    target: &Path,
) -> Result<(), String> {
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
        if path == Path::new(name) {
            continue;
        }
        if claim == Claim::Newer && path == Path::new("manifest.json") {
            let text = String::from_utf8_lossy(&own);
            own = text.replacen("\"minor\":", "\"minor\":9", 1).into_bytes();
        }
        header.set_size(own.len() as u64);
        builder.append_data(&mut header, path, own.as_slice()).map_err(problem)?;
    }
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    builder.append_data(&mut header, name, content).map_err(problem)?;
    builder.into_inner().and_then(zstd::Encoder::finish).map(|_| ()).map_err(problem)
}

/// A suite with many arms, or with many values of one kind.
fn arms(kind: usize) -> String {
    let head = "name = \"s\"\nregimes = [\"cold-clean\"]\n[[case]]\nname = \"c\"\n";
    let arm = |name: usize| format!("[[arm]]\nname = \"a{name}\"\nprocess = [\"true\"]\n");
    match kind {
        0 => head.to_owned() + &(0..200_000).map(arm).collect::<String>(),
        1 => head.to_owned() + &(0..9_000).map(arm).collect::<String>(),
        2 => format!("x = [{}]\n", "[],".repeat(2 << 20)),
        3 => format!("x = [{}]\n", "{},".repeat(150 << 10)),
        _ => "a.b.c.d = 1\n".repeat(40 << 10),
    }
}

/// Records that are each valid, and too large together.
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

/// The largest number of calls that is read.
fn calls(_: &mut Random) -> String {
    let spans: Vec<String> =
        (0..190_000).map(|n| format!("[{},{}]", 2 * n + 2, 2 * n + 3)).collect();
    let head = "{\"type\":\"iterations\",\"part\":\"window\",\"block\":true,\"spans\":[";
    with_messages(&format!("{head}{}]}}", spans.join(",")), 10)
}

/// The largest number of nested phases that is read.
fn phases(_: &mut Random) -> String {
    let begin = "{\"type\":\"phase\",\"edge\":\"begin\",\"name\":\"compile\",\"label\":\"f\",\
                 \"at\":2,\"thread\":0}";
    with_messages(&vec![begin; 140_000].join(","), 1)
}

fn with_messages(messages: &str, processes: usize) -> String {
    let record = RECORD.replace("\"messages\":[]", &format!("\"messages\":[{messages}]"));
    format!("{record}]}}}}\n").repeat(processes)
}

/// Random digits compress to less than half of their size.
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
