//! Names that are commands for a terminal, a browser, a spreadsheet or a Markdown renderer.

use super::stage::{Ended, Stage, expect};
use super::{Row, Size};

const PAYLOADS: [&str; 13] = [
    "\\u001b[2J\\u001b[H",
    "\\u001b]0;owned\\u0007",
    "\\u001b[8mhidden",
    "\\u009b31m",
    "one\\rtwo",
    "a\\u202eb",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "<script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "[link](javascript:alert(1))",
    "| a | b |",
    "one\\nVERIFIED: 17 passed",
];
const COMMANDS: [&[&str]; 6] = [
    &["show", "run"],
    &["show", "run", "--report", "full"],
    &["verify", "run"],
    &["report", "run", "--markdown"],
    &["report", "run", "--output", "-"],
    &["export", "run", "--to", "csv"],
];

pub(super) fn injection(stage: &Stage<'_>, size: Size) -> Row {
    let row = stage.cases(size.payloads, |number, _| {
        let place = stage.place();
        let name = PAYLOADS[number % PAYLOADS.len()];
        let suite = format!(
            "name = \"{name}\"\nregimes = [\"cold-clean\"]\n[comparison]\nverdicts = false\n\
             [[case]]\nname = \"c\"\n[[arm]]\nname = \"a\"\n\
             process = [\"sh\", \"-c\", 'printf %s \"$0\" >&2; exit 3', \"{name}\"]\n"
        );
        place.write("suite/suite.toml", &suite);
        let run = ["run", "suite", "--processes", "1", "--output", "run"];
        let ended = place.firstlight(&run)?;
        check(&ended, &run)?;
        // A name with a line break could print separate lines, so it is rejected.
        if name.contains("\\n") {
            return expect(&ended, &[2]);
        }
        expect(&ended, &[5])?;
        for command in COMMANDS {
            let ended = place.firstlight(command)?;
            expect(&ended, &[0])?;
            check(&ended, command)?;
        }
        Ok(())
    });
    Row { tried: row.tried * (COMMANDS.len() + 1), ..row }
}

fn check(ended: &Ended, command: &[&str]) -> Result<(), String> {
    let text = &ended.text;
    let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    if text.contains(acts) && !command.contains(&"csv") {
        return Err(format!("{command:?} prints a control character"));
    }
    // A link of Markdown is plain text on a web page.
    let link = if command.contains(&"--markdown") { "[link](javascript" } else { "=\"javascript:" };
    let markup = ["<script>alert", "<img src=x", link];
    if command[0] == "report" && markup.iter().any(|one| text.contains(one)) {
        return Err(format!("{command:?} prints markup"));
    }
    // No line begins with an author's text after a line break.
    if text.lines().any(|line| line.starts_with("VERIFIED: 17")) && !command.contains(&"csv") {
        return Err(format!("{command:?} prints a forged line"));
    }
    let formula = |field: &str| field.trim_start_matches('"').starts_with(['=', '@', '+']);
    if command[0] == "export" && text.lines().flat_map(|line| line.split(',')).any(formula) {
        return Err(format!("{command:?} prints a formula"));
    }
    Ok(())
}
