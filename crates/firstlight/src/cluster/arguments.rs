//! Converts the command line and the suite to the arguments of each task and of `sbatch`.

use std::path::Path;
use std::time::Duration;

use firstlight_schema::suite::{Choice, SlurmFile};

/// Slurm warns a task this long before its time limit, so that it can seal its shard.
const LONGEST_WARNING: Duration = Duration::from_mins(2);
const SHORTEST_WARNING: Duration = Duration::from_secs(10);

/// The arguments that every task passes to `firstlight run`, besides its own seed, node and folder.
pub(super) fn in_shard(
    choice: &Choice,
    processes: u32,
    python: Option<&Path>,
    redact: bool,
) -> Vec<String> {
    let mut words = vec!["--processes".to_owned(), processes.to_string()];
    let mut add = |option: &str, value: String| words.push(format!("--{option}={value}"));
    choice.profile.iter().for_each(|name| add("profile", name.clone()));
    choice.set.iter().for_each(|(name, value)| add("set", format!("{name}={value}")));
    choice.extras.iter().for_each(|name| add("extra", name.clone()));
    choice.cases.iter().for_each(|name| add("case", name.clone()));
    choice.arms.iter().for_each(|name| add("arm", name.clone()));
    choice.regimes.iter().for_each(|regime| add("regime", regime.name().to_owned()));
    words.extend(of_every_start(python, redact));
    words
}

/// Further arguments of a continued shard.
pub(super) fn of_every_start(python: Option<&Path>, redact: bool) -> Vec<String> {
    let mut words = vec!["--quiet".to_owned()];
    words.extend(python.map(|path| format!("--python={}", path.display())));
    words.extend(redact.then(|| "--redact".to_owned()));
    words
}

/// Options of `sbatch`.
pub(super) fn of_sbatch(slurm: &SlurmFile) -> Vec<String> {
    let mut options = vec!["--nodes=1".to_owned(), "--ntasks=1".to_owned()];
    let named = [
        ("partition", &slurm.partition),
        ("account", &slurm.account),
        ("gres", &slurm.gres),
        ("constraint", &slurm.constraint),
    ];
    for (name, value) in named {
        options.extend(value.as_ref().map(|value| format!("--{name}={value}")));
    }
    let seconds = slurm.time.as_secs().max(1);
    options.push(format!("--time={}:{:02}", seconds / 60, seconds % 60));
    let warning = (slurm.time / 10).clamp(SHORTEST_WARNING, LONGEST_WARNING);
    options.push(format!("--signal=B:TERM@{}", warning.as_secs()));
    options.extend(slurm.exclusive.then(|| "--exclusive".to_owned()));
    // A task that Slurm starts again continues its shard.
    options.extend(["--requeue".to_owned(), "--open-mode=append".to_owned()]);
    options
}

#[cfg(test)]
mod tests {
    use firstlight_schema::suite::Scalar;

    use super::*;

    #[test]
    fn the_table_of_a_suite_becomes_options_of_sbatch() {
        let slurm = SlurmFile {
            partition: Some("gpu".to_owned()),
            gres: Some("gpu:1".to_owned()),
            time: Duration::from_secs(90 * 60 + 5),
            ..SlurmFile::default()
        };
        let words = of_sbatch(&slurm).join(" ");
        assert_eq!(
            words,
            "--nodes=1 --ntasks=1 --partition=gpu --gres=gpu:1 --time=90:05 --signal=B:TERM@120 \
             --exclusive --requeue --open-mode=append"
        );
    }

    #[test]
    fn a_selection_reaches_every_task() {
        let choice = Choice {
            cases: vec!["a b".to_owned()],
            set: [("n".to_owned(), Scalar::typed("5"))].into(),
            ..Choice::default()
        };
        let words = in_shard(&choice, 6, Some(Path::new("/opt/python")), true).join("|");
        assert_eq!(
            words,
            "--processes|6|--set=n=5|--case=a b|--quiet|--python=/opt/python|--redact"
        );
    }
}
