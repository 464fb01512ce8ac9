//! The order in which a Hessian is factorised: small dense matrices ("fronts") in a tree.
//!
//! A bin depends only on its channel's parameters, so the second derivatives of a channel form a clique.
//! Channels that share most of their parameters are merged step by step. A parameter is eliminated in the
//! smallest merged set with all of its channels; that set's front has its couplings to other parameters.
//! Fronts are then joined if one larger front costs less than two (Duff and Reid, "The multifrontal solution
//! of indefinite sparse symmetric linear equations", 1983). The parameters of one analysis end up in one
//! front each, those that analyses share in the root. A model whose channels share everything has a single
//! front, which is the dense factorisation.

/// With fewer parameters, one dense matrix is always used.
const FEW: usize = 96;
/// Fronts are joined if the result costs at most this many times the separate fronts.
const SLACK: f64 = 1.1;
/// Several fronts must cost less than this fraction of a single front, which can also be solved in bins.
const WORTHWHILE: f64 = 0.6;
/// The cost of clearing, copying and scattering for each number of a front, in multiply-adds.
const TRAFFIC: f64 = 6.0;
/// The fixed cost of a front.
const OVERHEAD: f64 = 5e3;

/// The choice of fronts for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordering {
    /// The fronts with the lowest cost.
    Cheapest,
    /// One front, whatever its cost: the dense factorisation.
    #[cfg(test)]
    Single,
    /// As many fronts as possible.
    #[cfg(test)]
    Most,
}

/// The sets of a front, before its layout is known.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Parameters of the dense part that are eliminated here, in ascending order.
    pub(super) own: Vec<usize>,
    /// Parameters coupled to them and eliminated later.
    pub(super) boundary: Vec<usize>,
    pub(super) parent: Option<usize>,
    pub(super) channels: Vec<usize>,
}

/// Sets of parameters as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(length: usize) -> Self {
        Self(vec![0; length.div_ceil(64)])
    }

    fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    /// Adds a set, and calls `common` with the parameters in both.
    fn union(&mut self, other: &Self, common: impl FnMut(usize)) {
        let both = self.0.iter().zip(&other.0).map(|(one, two)| one & two).collect();
        Self(both).iter().for_each(common);
        self.0.iter_mut().zip(&other.0).for_each(|(one, two)| *one |= two);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            (0..64).filter(move |at| (bits >> at) & 1 == 1).map(move |at| 64 * word + at)
        })
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The fraction of two sets that is common to both.
    fn likeness(&self, other: &Self) -> f64 {
        let pairs = || self.0.iter().zip(&other.0);
        let common: u32 = pairs().map(|(one, two)| (one & two).count_ones()).sum();
        let all: u32 = pairs().map(|(one, two)| (one | two).count_ones()).sum();
        f64::from(common) / f64::from(all.max(1))
    }
}

/// A node of the tree under construction.
#[derive(Debug)]
struct Node {
    /// Parameters that are eliminated here.
    own: Vec<usize>,
    /// Parameters that are still coupled to them.
    boundary: Bits,
    channels: Vec<usize>,
    bins: usize,
    children: Vec<usize>,
    joined: bool,
}

impl Node {
    fn new(boundary: Bits) -> Self {
        let (own, channels, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { own, boundary, channels, bins: 0, children, joined: false }
    }

    /// Eliminates the parameters that no other node has.
    fn eliminate(&mut self, holders: &[usize]) {
        self.own = self.boundary.iter().filter(|&at| holders[at] == 1).collect();
        for &at in &self.own {
            self.boundary.remove(at);
        }
    }

    /// The number of multiply-adds of its factorisation.
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn cost(own: usize, boundary: usize, bins: usize) -> f64 {
        let n = (own + boundary) as f64;
        let (own, bins) = (own as f64, bins as f64);
        let factor = 0.5 * own * n * n - 0.5 * own * own * n + own * own * own / 6.0;
        factor + (0.5 * bins + TRAFFIC) * n * n + OVERHEAD
    }

    fn own_cost(&self) -> f64 {
        Self::cost(self.own.len(), self.boundary.len(), self.bins)
    }
}

/// The fronts of a model with this many parameters in its dense part, children before their parents.
/// `channels` has the parameters and the number of bins of each channel.
pub(super) fn plan(
    parameters: usize,
    channels: &[(Vec<usize>, usize)],
    ordering: Ordering,
) -> Vec<Plan> {
    let single = || {
        let (own, channels) = ((0..parameters).collect(), (0..channels.len()).collect());
        vec![Plan { own, channels, ..Plan::default() }]
    };
    let joins = match ordering {
        Ordering::Cheapest if parameters < FEW || channels.len() < 2 => return single(),
        Ordering::Cheapest => true,
        #[cfg(test)]
        Ordering::Single => return single(),
        #[cfg(test)]
        Ordering::Most => false,
    };
    let mut nodes = merge(parameters, channels);
    if joins {
        join(&mut nodes);
        let left = nodes.iter().filter(|node| !node.joined);
        let bins = channels.iter().map(|(_, bins)| bins).sum();
        if left.map(Node::own_cost).sum::<f64>() > WORTHWHILE * Node::cost(parameters, 0, bins) {
            return single();
        }
    }
    if nodes.iter().filter(|node| !node.joined).count() < 2 {
        return single();
    }
    collect(parameters, &nodes)
}

/// Merges similar channels until no two have a parameter in common.
fn merge(parameters: usize, channels: &[(Vec<usize>, usize)]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::with_capacity(2 * channels.len());
    // The number of unmerged nodes that have each parameter.
    let mut holders = vec![0_usize; parameters];
    for (channel, (members, bins)) in channels.iter().enumerate() {
        let mut boundary = Bits::new(parameters);
        for &member in members {
            boundary.insert(member);
            holders[member] += 1;
        }
        nodes.push(Node { channels: vec![channel], bins: *bins, ..Node::new(boundary) });
    }
    for node in &mut nodes {
        node.eliminate(&holders);
    }
    let mut open: Vec<usize> = (0..nodes.len()).collect();
    let mut closest: Vec<(f64, usize)> =
        open.iter().map(|&one| closest_to(one, &nodes, &open)).collect();
    loop {
        let mut pair = (0.0, 0);
        for &one in &open {
            if closest[one].0 > pair.0 {
                pair = (closest[one].0, one);
            }
        }
        let (likeness, one) = pair;
        if likeness == 0.0 {
            return nodes;
        }
        let two = closest[one].1;
        let mut boundary = nodes[one].boundary.clone();
        boundary.union(&nodes[two].boundary, |common| holders[common] -= 1);
        let mut node = Node { children: vec![one, two], ..Node::new(boundary) };
        node.eliminate(&holders);
        let new = nodes.len();
        nodes.push(node);
        open.retain(|&at| at != one && at != two);
        closest.push((0.0, usize::MAX));
        for &at in &open {
            let likeness = nodes[at].boundary.likeness(&nodes[new].boundary);
            if likeness > closest[at].0 {
                closest[at] = (likeness, new);
            } else if closest[at].1 == one || closest[at].1 == two {
                closest[at] = closest_to(at, &nodes, &open);
                if likeness > closest[at].0 {
                    closest[at] = (likeness, new);
                }
            }
        }
        open.push(new);
    }
}

/// The later node that is most similar to a node.
fn closest_to(one: usize, nodes: &[Node], open: &[usize]) -> (f64, usize) {
    let mut closest = (0.0, usize::MAX);
    for &two in open.iter().filter(|&&two| two > one) {
        let likeness = nodes[one].boundary.likeness(&nodes[two].boundary);
        if likeness > closest.0 {
            closest = (likeness, two);
        }
    }
    closest
}

/// Joins children to their parents where that costs little or saves something.
fn join(nodes: &mut [Node]) {
    for parent in 0..nodes.len() {
        // Children of a joined child become the parent's, and may then be joined too.
        let mut next = 0;
        while let Some(&child) = nodes[parent].children.get(next) {
            let (one, two) = (&nodes[child], &nodes[parent]);
            let own = one.own.len() + two.own.len();
            let together = Node::cost(own, two.boundary.len(), one.bins + two.bins);
            if together > SLACK * (one.own_cost() + two.own_cost()) {
                next += 1;
                continue;
            }
            let grandchildren = std::mem::take(&mut nodes[child].children);
            let own = std::mem::take(&mut nodes[child].own);
            let channels = std::mem::take(&mut nodes[child].channels);
            nodes[child].joined = true;
            let (bins, parent) = (nodes[child].bins, &mut nodes[parent]);
            parent.own.extend(own);
            parent.channels.extend(channels);
            parent.bins += bins;
            parent.children.remove(next);
            parent.children.extend(grandchildren);
        }
    }
}

/// The fronts of the remaining nodes, each after its children.
fn collect(parameters: usize, nodes: &[Node]) -> Vec<Plan> {
    let mut parent = vec![None; nodes.len()];
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| !node.joined) {
        node.children.iter().for_each(|&child| parent[child] = Some(at));
    }
    // A parent is created after its children.
    let order: Vec<usize> = (0..nodes.len()).filter(|&at| !nodes[at].joined).collect();
    let mut number = vec![0; nodes.len()];
    order.iter().enumerate().for_each(|(index, &at)| number[at] = index);
    let mut is_idle = vec![true; parameters];
    let mut fronts: Vec<Plan> = Vec::with_capacity(order.len());
    for at in order {
        let node = &nodes[at];
        let (mut own, mut channels) = (node.own.clone(), node.channels.clone());
        for &own in &own {
            is_idle[own] = false;
        }
        own.sort_unstable();
        channels.sort_unstable();
        let parent = parent[at].map(|parent: usize| number[parent]);
        fronts.push(Plan { own, boundary: node.boundary.iter().collect(), parent, channels });
    }
    if let Some(last) = fronts.last_mut() {
        last.own.extend((0..parameters).filter(|&at| is_idle[at]));
        last.own.sort_unstable();
    }
    fronts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Analyses of some channels each: parameters of a channel, of an analysis and of all.
    fn analyses(count: usize, local: usize, shared: usize) -> (usize, Vec<(Vec<usize>, usize)>) {
        let mut channels = Vec::new();
        for analysis in 0..count {
            for channel in 0..4 {
                let start = shared + analysis * local;
                // Each channel lacks some of the analysis' parameters.
                let own = (start..start + local).filter(|at| (at + channel) % 5 != 0);
                channels.push(((0..shared).filter(|at| at % 7 != channel).chain(own).collect(), 3));
            }
        }
        (shared + count * local, channels)
    }

    #[test]
    fn each_analysis_has_a_front_and_the_shared_parameters_come_last() {
        let (parameters, channels) = analyses(6, 80, 20);
        let fronts = plan(parameters, &channels, Ordering::Cheapest);
        assert_eq!(fronts.len(), 6);
        let (root, others) = fronts.split_last().unwrap();
        assert!((0..20).all(|shared| root.own.contains(&shared)));
        for front in others {
            assert_eq!((front.own.len(), front.boundary.len()), (80, 20));
            assert_eq!((front.parent, front.channels.len()), (Some(5), 4));
        }
    }

    #[test]
    fn channels_that_share_everything_have_one_front() {
        let channels: Vec<_> = (0..8).map(|_| ((0..200).collect(), 4)).collect();
        assert_eq!(plan(200, &channels, Ordering::Cheapest).len(), 1);
    }

    #[test]
    fn a_front_has_every_parameter_coupled_to_its_own() {
        for (count, local, shared) in [(1, 200, 0), (3, 50, 40), (5, 120, 0), (9, 30, 200)] {
            let (parameters, channels) = analyses(count, local, shared);
            let parameters = parameters + 2;
            let fronts = plan(parameters, &channels, Ordering::Cheapest);
            let mut owned: Vec<usize> = fronts.iter().flat_map(|front| front.own.clone()).collect();
            owned.sort_unstable();
            assert_eq!(owned, (0..parameters).collect::<Vec<_>>());
            let mut held: Vec<usize> = fronts.iter().flat_map(|f| f.channels.clone()).collect();
            held.sort_unstable();
            assert_eq!(held, (0..channels.len()).collect::<Vec<_>>());
            for (index, front) in fronts.iter().enumerate() {
                let has = |front: &Plan, at| front.own.contains(at) || front.boundary.contains(at);
                for &channel in &front.channels {
                    assert!(channels[channel].0.iter().all(|at| has(front, at)));
                }
                match front.parent {
                    None => assert!(front.boundary.is_empty()),
                    Some(parent) => {
                        assert!(parent > index);
                        assert!(front.boundary.iter().all(|at| has(&fronts[parent], at)));
                    }
                }
            }
        }
    }
}
