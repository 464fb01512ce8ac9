//! Every threshold of the statistics, each with its reason.

/// The fewest values that give a median a 95 % interval between its order statistics, and the fewest
/// pairs with a signed-rank interval: 2 × 2⁻⁵ is more than 5 %, 2 × 2⁻⁶ less.
pub const FEWEST_FOR_INTERVAL: usize = 6;

/// The fewest pairs of processes that a verdict rests on: with fewer, the t interval covers what it
/// says but reaches so far that it settles nothing (Student's t is 2.8 with 5 values, 4.3 with 3).
pub const FEWEST_FOR_VERDICT: usize = 5;

/// The fewest calls among which a steady part can be found.
pub const FEWEST_CALLS: u32 = 10;

/// The fewest calls of further windows, however precise fewer would be: a window has to show that it is
/// steady.
pub const FEWEST_CALLS_PLANNED: u32 = 50;

/// A claim with a larger p value, corrected for the number of comparisons, is not made.
pub const SIGNIFICANT: f64 = 0.05;

/// A standard deviation above this share of the mean: the mean describes no process.
pub const HIGH_VARIANCE: f64 = 0.2;

/// Where more than this share of the processes has no steady state, those that have one are a selection.
pub const MOST_UNSETTLED: f64 = 0.2;

/// A drift with a larger p value may be chance.
pub const DRIFT_P: f64 = 0.01;

/// A drift by less than this share is not worth a word.
pub const DRIFT_CHANGE: f64 = 0.01;

/// More foreign load than this, in cores, disturbs a measurement.
pub const NOISY_CORES: f64 = 0.5;

/// Two nodes that disagree leave open which one is wrong, and so nearly do three.
pub const FEWEST_NODES_FOR_OUTLIER: usize = 4;

/// A node is reported when chance would make one look so different this rarely.
pub const OUTLIER_P: f64 = 0.01;

/// The rarest kind of process that an interval over n processes covers: one that makes up the share q of
/// all is missing with the probability (1 − q)ⁿ, which may take up half of what a 95 % interval misses.
pub fn rarity(n: u32) -> Option<f64> {
    let missing = (1.0 - super::CONFIDENCE) / 2.0;
    (n > 0).then(|| 1.0 - missing.powf(1.0 / f64::from(n)))
}

#[cfg(test)]
mod tests {
    use super::rarity;

    #[test]
    fn seventeen_processes_show_what_happens_in_one_of_five_and_thirty_six_in_one_of_ten() {
        assert!(rarity(16).unwrap() > 0.2 && rarity(17).unwrap() < 0.2);
        assert!(rarity(35).unwrap() > 0.1 && rarity(36).unwrap() < 0.1);
        assert_eq!(rarity(0), None);
    }
}
