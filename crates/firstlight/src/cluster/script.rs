//! The end of a task's script, after its checks: it becomes firstlight.

use firstlight_schema::variables;
use firstlight_slurm::quoted;

/// The arguments that the tasks of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Body<'a> {
    /// Arguments of `firstlight run` for a new shard, without those that differ from task to task.
    pub(super) arguments: &'a [String],
    /// The same for a shard that is continued.
    pub(super) resumed: &'a [String],
    /// The seed of the first task; the next one has the next.
    pub(super) seed: u64,
}

impl Body<'_> {
    /// Slurm signals the script itself shortly before its time is up, and by then the script is firstlight,
    /// which seals what it has.
    pub(super) fn text(&self) -> String {
        let words = |words: &[String]| {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        };
        let (arguments, resumed) = (words(self.arguments), words(self.resumed));
        let (local, cache) = (variables::LOCAL, variables::CACHE);
        let seed = self.seed;
        format!(
            r#"# Environments and caches of compilers are made once on each node.
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_body_is_valid_shell() {
        let arguments = ["--processes".to_owned(), "4".to_owned(), "a b".to_owned()];
        let body = Body { arguments: &arguments, resumed: &[], seed: 7 };
        let checked = Command::new("bash").args(["-n", "-c", &body.text()]).status().unwrap();
        assert!(checked.success(), "{}", body.text());
    }
}
