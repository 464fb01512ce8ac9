//! Signals at random moments, once and twice.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::stage::Stage;
use super::{Row, Size};

const SIGNALS: [&str; 6] = ["-INT", "-TERM", "-HUP", "-QUIT", "-USR1", "-KILL"];

pub(super) fn signals(stage: &Stage<'_>, size: Size) -> Row {
    stage.cases(size.signals, |number, random| {
        let place = stage.place();
        // A unique duration, because other processes sleep too.
        let mark = format!("0.0{}{number}", stage.seed % 1000 + 1000);
        let mut command = place.command(&stage.programs.firstlight);
        command.args(["cold", "--runs", "200", "--output", "run", "--", "bash", "-c"]);
        // A process that has left its session, its environment and its parent, and would continue to sleep.
        let daemon = format!("6{}.{number}", stage.seed % 1000 + 1000);
        let script =
            format!("(env -i setsid sleep {daemon} &); setsid sleep {mark} & sleep {mark}");
        command.arg(script);
        let mut child = place.start(&mut command);
        let signal = random.pick(&SIGNALS);
        let pid = child.id().to_string();
        let send = || Command::new("kill").args([signal, &pid]).output().expect("kill is there");
        thread::sleep(Duration::from_millis(random.below(1200) as u64));
        send();
        if random.below(2) == 0 {
            thread::sleep(Duration::from_millis(random.below(300) as u64));
            send();
        }
        let ended = place.wait(&mut child)?;
        // A signal before the handlers are installed kills the process as usual.
        let begun = place.path().join("run/raw.jsonl");
        let fine = ended.status.code().is_none_or(|code| code == 130) || !begun.exists();
        if !fine {
            return Err(format!("{signal}: {}: {}", ended.status, ended.text));
        }
        if let Ok(raw) = fs::read_to_string(&begun) {
            let whole =
                raw.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
            let (whole, all) = (whole.count(), raw.lines().count());
            if whole + 1 < all || (signal != "-KILL" && whole < all) {
                return Err(format!("{signal}: {} samples are lost", all - whole));
            }
        }
        place.is_clear(&mark)?;
        place.is_clear(&daemon)
    })
}
