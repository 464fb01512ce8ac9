//! Archives that are truncated, altered, extended, or contain paths outside their folder.

use std::fs;

use firstlight::is_sound;
use firstlight_engine::snapshot::Files;
use tar::{Builder, EntryType, Header};

use super::mutations::archive;
use super::random::Random;
use super::stage::Stage;
use super::{Row, Size};

const NAMES: [&str; 8] =
    ["../evil", "/etc/evil", "suite/../../evil", "a\\b", "a:b", "a//b", "./a", "\u{1b}[2J"];
const KINDS: [EntryType; 6] = [
    EntryType::Symlink,
    EntryType::Link,
    EntryType::Char,
    EntryType::Block,
    EntryType::Fifo,
    EntryType::GNUSparse,
];

pub(super) fn archives(stage: &Stage<'_>, size: Size) -> Row {
    let good = match archive(stage) {
        Ok(good) => good,
        Err(why) => return Row { tried: 1, lost: vec![why], ..Row::default() },
    };
    stage.cases(size.archives, |number, random| {
        let place = stage.place();
        let path = place.path().join("bad.tar.zst");
        let bytes = match number % 4 {
            0 => good[..random.below(good.len())].to_vec(),
            1 => bent(&good, random),
            2 => [good.as_slice(), random.next().to_string().as_bytes()].concat(),
            _ => made(random),
        };
        fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let before = fs::read_dir(place.path()).map_or(0, Iterator::count);
        let accepted = Files::read(&path).is_ok_and(|files| is_sound(&files, None) == Ok(true));
        if accepted {
            return Err("a broken archive was accepted".to_owned());
        }
        let after = fs::read_dir(place.path()).map_or(0, Iterator::count);
        if before == after { Ok(()) } else { Err("something was written".to_owned()) }
    })
}

/// One byte of the file changed.
fn bent(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    bytes
}

/// An archive with one entry that no snapshot has.
fn made(random: &mut Random) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    let regular = random.below(2) == 0;
    let name = if regular { random.pick(&NAMES) } else { "manifest.json" };
    header.as_gnu_mut().expect("a GNU header").name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(if regular { EntryType::Regular } else { random.pick(&KINDS) });
    header.set_size(0);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append(&header, &b""[..]).expect("writing to a vector");
    let tar = builder.into_inner().expect("writing to a vector");
    zstd::encode_all(tar.as_slice(), 1).expect("writing to a vector")
}
