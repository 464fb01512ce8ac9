//! Every threshold of the statistics, each with its reason.

/// The smallest number of values that give a median a 95 % interval between its order statistics, and the
/// smallest number of pairs with a signed-rank interval: 2 × 2⁻⁵ is more than 5 %, 2 × 2⁻⁶ less.
pub const FEWEST_FOR_INTERVAL: usize = 6;

/// The smallest number of pairs of processes for a verdict. With fewer, the t interval has the right coverage
/// but is too wide to decide anything (Student's t is 2.8 with 5 values, 4.3 with 3).
pub const FEWEST_FOR_VERDICT: usize = 5;

/// The smallest number of calls in which a steady part can be found.
pub const FEWEST_CALLS: u32 = 10;

/// The smallest number of calls of further windows, however precise fewer would be: a window has to show that
/// it is steady.
pub const FEWEST_CALLS_PLANNED: u32 = 50;

/// Claims with a larger p value, corrected for the number of comparisons, are not made.
pub const SIGNIFICANT: f64 = 0.05;

/// A standard deviation above this share of the mean: no process is close to the mean.
pub const HIGH_VARIANCE: f64 = 0.2;

/// If more than this share of the processes has no steady state, the other processes are a biased selection.
pub const MOST_UNSETTLED: f64 = 0.2;

/// A drift with a larger p value may be chance.
pub const DRIFT_P: f64 = 0.01;

/// A smaller relative drift is not reported.
pub const DRIFT_CHANGE: f64 = 0.01;

/// More load by other processes than this, in cores, disturbs a measurement.
pub const NOISY_CORES: f64 = 0.5;

/// With two nodes it is open which one is wrong, and nearly so with three.
pub const FEWEST_NODES_FOR_OUTLIER: usize = 4;

/// A node is reported if chance alone would produce such a deviation this rarely.
pub const OUTLIER_P: f64 = 0.01;

/// The rarest kind of process that an interval over n processes covers. A kind with the share q of all
/// processes is missing with the probability (1 − q)ⁿ, which may be up to half of the error of a 95 %
/// interval.
pub fn rarity(n: u32) -> Option<f64> {
    let missing = (1.0 - super::CONFIDENCE) / 2.0;
    (n > 0).then(|| 1.0 - missing.powf(1.0 / f64::from(n)))
}

#[cfg(test)]
mod tests {
    use super::rarity;

    #[test]
    fn seventeen_processes_show_an_effect_in_one_of_five_and_thirty_six_in_one_of_ten() {
        assert!(rarity(16).unwrap() > 0.2 && rarity(17).unwrap() < 0.2);
        assert!(rarity(35).unwrap() > 0.1 && rarity(36).unwrap() < 0.1);
        assert_eq!(rarity(0), None);
    }
}
