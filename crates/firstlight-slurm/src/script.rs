//! The batch script of a task: it checks the sentinel, takes the task's lock, and becomes the program.

/// The inputs of a task's script.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// The name of the program, for messages.
    pub program: &'a str,
    /// The run's folder on the shared storage.
    pub folder: &'a str,
    pub sentinel: &'a str,
    /// The variable that [`crate::Submission::offset`] is in.
    pub offset: &'a str,
    /// The rest of the script. It begins in the folder, with the number of the task in `$index`, the same
    /// with five digits in `$name`, and the node in `$node`.
    pub body: &'a str,
}

impl Script<'_> {
    pub fn text(&self) -> String {
        let Self { program, offset, body, .. } = self;
        let (folder, sentinel) = (quoted(self.folder), quoted(self.sentinel));
        format!(
            r#"#!/bin/bash
# Computes one shard of the run in its folder. Written by {program}.
folder={folder}
index=$(( ${{SLURM_ARRAY_TASK_ID:-0}} + ${{{offset}:-0}} ))
name=$(printf %05d "$index")
node=${{SLURMD_NODENAME:-$(hostname)}}
if ! cd "$folder" || [ "$(cat sentinel)" != {sentinel} ]; then
    echo "{program}: $node does not see $folder: the folder of a run must be on shared storage" >&2
    exit 97
fi
exec 9> "tasks/$name.lock"
if ! flock --nonblock 9; then
    echo "{program}: another task computes shard $name" >&2
    exit 98
fi
echo "$node ${{SLURM_ARRAY_JOB_ID:-0}} $(date +%s.%N)" >> "tasks/$name.begun"
{body}"#
        )
    }
}

/// A word as a shell reads it, whatever is in it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_word_reaches_the_program_as_it_was_typed() {
        for word in ["plain", "two words", "it's", "$HOME `id` \"x\" \\ *", ""] {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    #[test]
    fn the_script_is_valid_shell() {
        let script = Script {
            program: "program",
            folder: "/shared/it's here",
            sentinel: "abc",
            offset: "OFFSET",
            body: "exec true\n",
        };
        let checked = Command::new("bash").args(["-n", "-c", &script.text()]).status().unwrap();
        assert!(checked.success(), "{}", script.text());
    }
}
