//! Values from several nodes: the mean over nodes with its interval, and the contributions of nodes and
//! processes to the variance.
//!
//! With m̄ᵢ the mean of node i of k, the estimate is the mean of the m̄ᵢ and its interval t(k−1) s / √k with s
//! the deviation of the m̄ᵢ. It covers what it claims however much or little nodes differ, because each
//! node is one draw of everything that its processes share. A rule that first tests whether nodes differ
//! covers too little where they differ moderately. Components by the one-way analysis of variance: with
//! mean squares B and W, N values and n₀ = (N − Σnᵢ²/N)/(k − 1), between = √max(0, (B − W)/n₀), within = √W.
//! (Searle, Casella and others, Variance Components, 1992, chapter 3.)
//!
//! An outlier is a node whose mean lies far from the others': t = (m̄ᵢ − m̄₋ᵢ) / (s₋ᵢ √(1 + 1/(k−1))) with k − 2
//! degrees of freedom, and its p value times k. (Grubbs, Technometrics 11, 1969, in the form of deleted
//! residuals.)

use std::collections::BTreeMap;

use firstlight_schema::comparison::NodeVariance;

use super::moments::{mean, variance};
use super::{count, short, student};

/// The mean over nodes, on the scale of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeMean {
    pub mean: f64,
    pub error: f64,
    pub df: f64,
}

/// Values grouped by node.
#[derive(Clone, Debug, Default)]
pub struct ByNode {
    groups: BTreeMap<usize, Vec<f64>>,
}

impl ByNode {
    pub fn new(values: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut groups: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (node, value) in values {
            groups.entry(node).or_default().push(value);
        }
        Self { groups }
    }

    /// `None` for fewer than two nodes.
    pub fn mean(&self) -> Option<NodeMean> {
        let means: Vec<f64> = self.means().into_iter().map(|(_, mean)| mean).collect();
        let k = count(means.len());
        let error = (variance(&means)? / k).sqrt();
        Some(NodeMean { mean: mean(&means), error, df: k - 1.0 })
    }

    /// The standard deviations between nodes and within a node; `None` for fewer than two nodes or nodes of a
    /// single value each.
    pub fn components(&self) -> Option<NodeVariance> {
        let sizes: Vec<f64> = self.groups.values().map(|group| count(group.len())).collect();
        let (n, k) = (sizes.iter().sum::<f64>(), count(sizes.len()));
        if k < 2.0 || n <= k {
            return None;
        }
        let all: f64 = self.groups.values().flatten().sum::<f64>() / n;
        let squared = |value: f64, centre: f64| (value - centre).powi(2);
        let between: f64 =
            self.groups.values().map(|group| count(group.len()) * squared(mean(group), all)).sum();
        let within: f64 = self
            .groups
            .values()
            .flat_map(|group| {
                let centre = mean(group);
                group.iter().map(move |&value| squared(value, centre))
            })
            .sum();
        let typical = (n - sizes.iter().map(|size| size * size).sum::<f64>() / n) / (k - 1.0);
        let (between, within) = (between / (k - 1.0), within / (n - k));
        Some(NodeVariance {
            nodes: short(sizes.len()),
            between: ((between - within).max(0.0) / typical).sqrt(),
            within: within.sqrt(),
        })
    }

    /// The node that lies furthest from the others in units of their deviation: its distance, and the p value
    /// for the furthest of this many nodes. `None` for fewer than four nodes, which leave open which one
    /// differs.
    pub fn outlier(&self) -> Option<Outlier> {
        let means = self.means();
        if means.len() < super::limits::FEWEST_NODES_FOR_OUTLIER {
            return None;
        }
        let judged = means.iter().filter_map(|&(node, own)| {
            let others: Vec<f64> =
                means.iter().filter(|(other, _)| *other != node).map(|&(_, mean)| mean).collect();
            let away = own - mean(&others);
            let deviation = (variance(&others)? * (1.0 + 1.0 / count(others.len()))).sqrt();
            if deviation == 0.0 {
                return None;
            }
            let tail = student::tail(away.abs() / deviation, count(others.len() - 1))?;
            Some(Outlier { node, away, p: (2.0 * tail * count(means.len())).min(1.0) })
        });
        judged.min_by(|a, b| a.p.total_cmp(&b.p))
    }

    /// The mean of each node, for values that are logarithms.
    pub fn geometric_means(&self) -> Vec<f64> {
        self.means().into_iter().map(|(_, mean)| mean.exp()).collect()
    }

    fn means(&self) -> Vec<(usize, f64)> {
        self.groups.iter().map(|(&node, group)| (node, mean(group))).collect()
    }
}

/// A node compared with the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    pub node: usize,
    /// Its mean minus the others'.
    pub away: f64,
    pub p: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn drawn(noise: &mut Noise, nodes: usize, rounds: usize, between: f64) -> ByNode {
        let mut values = Vec::new();
        for node in 0..nodes {
            let effect = between * noise.normal();
            values.extend((0..rounds).map(|_| (node, effect + 0.02 * noise.normal())));
        }
        ByNode::new(values)
    }

    #[test]
    fn planted_components_are_found() {
        let found = drawn(&mut Noise::new(5), 600, 6, 0.03).components().unwrap();
        assert!((found.between - 0.03).abs() < 0.003, "{found:?}");
        assert!((found.within - 0.02).abs() < 0.001, "{found:?}");
        let none = drawn(&mut Noise::new(6), 600, 6, 0.0).components().unwrap();
        assert!(none.between < 0.003, "{none:?}");
        assert_eq!(ByNode::new([(0, 1.0), (0, 2.0)]).components(), None);
        assert_eq!(ByNode::new([(0, 1.0), (1, 2.0)]).components(), None);
    }

    #[test]
    fn a_planted_outlier_is_found_and_equal_nodes_have_none() {
        let mut alarms = 0;
        for seed in 0..400 {
            let mut noise = Noise::new(seed * 31 + 7);
            let quiet = drawn(&mut noise, 8, 4, 0.01);
            alarms += u32::from(quiet.outlier().is_some_and(|found| found.p < 0.01));
        }
        assert!(alarms <= 12, "{alarms} of 400 runs without an outlier have one");
        let mut noise = Noise::new(3);
        let mut loud = drawn(&mut noise, 8, 4, 0.01);
        loud.groups.get_mut(&5).unwrap().iter_mut().for_each(|value| *value += 0.2);
        let found = loud.outlier().unwrap();
        assert_eq!(found.node, 5);
        assert!(found.p < 0.001 && (found.away - 0.2).abs() < 0.05, "{found:?}");
        assert_eq!(drawn(&mut noise, 3, 4, 0.01).outlier(), None);
    }
}
