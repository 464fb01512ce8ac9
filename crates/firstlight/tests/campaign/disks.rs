//! Full disks, simulated by a limit on file sizes.

use std::fs;
use std::path::Path;

use super::stage::{Stage, expect};
use super::{Row, Size};

pub(super) fn disks(stage: &Stage<'_>, size: Size) -> Row {
    stage.cases(size.disks, |_, random| {
        let place = stage.place();
        // Output needs room, too.
        let blocks = 2 + random.below(60);
        let mut command = place.command(Path::new("bash"));
        let program = stage.programs.firstlight.to_string_lossy();
        // The hooks are written before the disk is full.
        place.firstlight(&["cold", "--runs", "1", "--", "true"])?;
        let script = format!("ulimit -f {blocks}; {program} cold --runs 25 --output run -- true");
        let ended = place.end(command.args(["-c", &script]))?;
        expect(&ended, &[0, 1, 2])?;
        if ended.status.code() != Some(0) && !ended.text.contains("error: cannot") {
            return Err(format!("no reason is given: {}", ended.text));
        }
        let raw = fs::read_to_string(place.path().join("run/raw.jsonl")).unwrap_or_default();
        let broken = raw.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        match broken.filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).count()
        {
            0 => Ok(()),
            lost => Err(format!("{lost} samples are lost")),
        }
    })
}
