//! Searches a line of commits for the first one that differs. Pure: it says what to measure next and what
//! follows from the verdicts so far.

use std::ops::RangeInclusive;

use firstlight_schema::comparison::Verdict;
use firstlight_schema::gate::{Change, Decision, Found, GateRow, Results};

/// How the rows of a bad commit differ from a good one, and which rows do.
pub fn change(rows: &[GateRow]) -> Option<(Change, Vec<&GateRow>)> {
    let kinds = [Change::DifferentResults, Change::Slower, Change::Faster];
    kinds.into_iter().find_map(|change| {
        let changed: Vec<&GateRow> =
            rows.iter().filter(|row| of_row(row, change) == Found::After).collect();
        (!changed.is_empty()).then_some((change, changed))
    })
}

/// On which side of a change a commit is, from its rows.
pub fn classify(rows: &[GateRow], change: Change) -> Found {
    let found: Vec<Found> = rows.iter().map(|row| of_row(row, change)).collect();
    let any = |wanted: Found| found.contains(&wanted);
    if any(Found::After) {
        Found::After
    } else if any(Found::NotRun) {
        Found::NotRun
    } else if found.is_empty() || any(Found::Inconclusive) {
        Found::Inconclusive
    } else {
        Found::Before
    }
}

fn of_row(row: &GateRow, change: Change) -> Found {
    if row.decision == Decision::NotRun {
        return Found::NotRun;
    }
    let verdict = row.comparison.as_ref().map(|one| one.verdict);
    match change {
        Change::DifferentResults => match row.results {
            Results::Different => Found::After,
            Results::Same => Found::Before,
            Results::NotCompared => Found::Inconclusive,
        },
        Change::Slower if row.decision == Decision::Passed => Found::Before,
        Change::Slower if verdict == Some(Verdict::Slower) => Found::After,
        Change::Slower => Found::Inconclusive,
        Change::Faster => match verdict {
            Some(Verdict::Faster) => Found::After,
            Some(Verdict::Equivalent | Verdict::Slower) => Found::Before,
            _ => Found::Inconclusive,
        },
    }
}

/// The commits after a good one, oldest first; the last one is bad.
#[derive(Clone, Debug)]
pub struct Search {
    found: Vec<Option<Found>>,
}

impl Search {
    /// A search over so many commits.
    pub fn new(commits: usize) -> Self {
        Self { found: vec![None; commits] }
    }

    pub fn record(&mut self, commit: usize, found: Found) {
        self.found[commit] = Some(found);
    }

    /// The first commit that may be the one, and the last.
    pub fn suspects(&self) -> RangeInclusive<usize> {
        let after = self.found.iter().position(|found| *found == Some(Found::After));
        let last = after.unwrap_or_else(|| self.found.len().saturating_sub(1));
        let before = self.found[..last].iter().rposition(|found| *found == Some(Found::Before));
        before.map_or(0, |before| before + 1)..=last
    }

    /// The commit to measure next: the one nearest to the middle of those that can decide something.
    pub fn next(&self) -> Option<usize> {
        let suspects = self.suspects();
        let (first, last) = (*suspects.start(), *suspects.end());
        let middle = first + (last - first) / 2;
        let open = (first..last).filter(|&commit| self.found[commit].is_none());
        open.min_by_key(|commit| commit.abs_diff(middle))
    }

    /// About how many more commits will be measured.
    pub fn steps_left(&self) -> u32 {
        let suspects = self.suspects();
        (suspects.end() - suspects.start() + 1).next_power_of_two().ilog2()
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::gate::Found;

    use super::Search;

    /// Searches commits of which the ones from `first` on are bad, and those in `skipped` have no verdict.
    fn search(commits: usize, first: usize, skipped: &[usize]) -> (Vec<usize>, usize) {
        let mut search = Search::new(commits);
        search.record(commits - 1, Found::After);
        let mut steps = 0;
        while let Some(commit) = search.next() {
            let found = match commit {
                _ if skipped.contains(&commit) => Found::NotRun,
                _ if commit >= first => Found::After,
                _ => Found::Before,
            };
            search.record(commit, found);
            steps += 1;
        }
        (search.suspects().collect(), steps)
    }

    #[test]
    fn every_first_bad_commit_is_found_in_the_fewest_steps() {
        for commits in 1..40 {
            for first in 0..commits {
                let (suspects, steps) = search(commits, first, &[]);
                assert_eq!(suspects, [first], "{commits} commits");
                let fewest = commits.next_power_of_two().ilog2() as usize;
                assert!(steps <= fewest, "{steps} steps for {commits} commits");
            }
        }
    }

    #[test]
    fn skipped_commits_before_the_first_bad_one_remain_suspects() {
        assert_eq!(search(20, 13, &[12]).0, [12, 13]);
        assert_eq!(search(20, 13, &[11, 12]).0, [11, 12, 13]);
        assert_eq!(search(20, 13, &[14, 3]).0, [13]);
        assert_eq!(search(4, 2, &[0, 1, 2]).0, [0, 1, 2, 3]);
    }
}
