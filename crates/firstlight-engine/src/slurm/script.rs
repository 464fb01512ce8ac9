//! The batch script of a task: it checks the sentinel, takes the shard's lock and becomes firstlight.

use firstlight_schema::variables;

/// What the script of every task needs.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// The run's folder on the shared storage.
    pub folder: &'a str,
    pub sentinel: &'a str,
    /// Arguments of `firstlight run` for a new shard, without those that differ from task to task.
    pub arguments: &'a [String],
    /// The same for a shard that is continued.
    pub resumed: &'a [String],
    /// The seed of the first task; the next one has the next.
    pub seed: u64,
}

impl Script<'_> {
    /// The whole text. Slurm signals the script itself shortly before its time is up, and by then the
    /// script is firstlight, which seals what it has.
    pub fn text(&self) -> String {
        let folder = quoted(self.folder);
        let sentinel = quoted(self.sentinel);
        let words = |words: &[String]| {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        };
        let (arguments, resumed) = (words(self.arguments), words(self.resumed));
        let (offset, local, cache) = (variables::OFFSET, variables::LOCAL, variables::CACHE);
        let seed = self.seed;
        format!(
            r#"#!/bin/bash
# Measures one shard of the run in its folder. Written by `firstlight run --on slurm`.
folder={folder}
index=$(( ${{SLURM_ARRAY_TASK_ID:-0}} + ${{{offset}:-0}} ))
name=$(printf %05d "$index")
node=${{SLURMD_NODENAME:-$(hostname)}}
if ! cd "$folder" || [ "$(cat sentinel)" != {sentinel} ]; then
    echo "firstlight: $node does not see $folder: the folder of a run must be on shared storage" >&2
    exit 97
fi
exec 9> "tasks/$name.lock"
if ! flock --nonblock 9; then
    echo "firstlight: another task measures shard $name" >&2
    exit 98
fi
echo "$node ${{SLURM_ARRAY_JOB_ID:-0}} $(date +%s.%N)" >> "tasks/$name.begun"
# Environments and caches of compilers are made once on each node.
export {cache}="${{{local}:-${{TMPDIR:-/tmp}}}}/firstlight-$(id -u)"
mkdir -p -m 700 "${cache}"
shard="shards/$name"
if [ -e "$shard/origin.json" ] || [ -e "$shard/manifest.json" ]; then
    exec ./firstlight --no-config run --resume "$shard" --new-segment --node "$node" {resumed} > /dev/null
fi
# Nothing was measured if even the beginning was not written.
rm -rf "$shard"
exec ./firstlight --no-config run suite --seed $(( {seed} + index )) --node "$node" --output "$shard" {arguments} > /dev/null
"#
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
        let arguments = ["--processes".to_owned(), "4".to_owned(), "a b".to_owned()];
        let script = Script {
            folder: "/shared/it's here",
            sentinel: "abc",
            arguments: &arguments,
            resumed: &[],
            seed: 7,
        };
        let checked = Command::new("bash").args(["-n", "-c", &script.text()]).status().unwrap();
        assert!(checked.success(), "{}", script.text());
    }
}
