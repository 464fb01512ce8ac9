//! Corrections to a held factor from the changes of the gradient over the latest steps.
//!
//! With a step s and the change y of the gradient over it the inverse B⁻¹ that a factor gives becomes
//! (1 − s yᵀ/sᵀy) B⁻¹ (1 − y sᵀ/sᵀy) + s sᵀ/sᵀy, for each pair, the oldest first: BFGS with the
//! two loops of Nocedal (1980).

use crate::linalg::{add_multiple, product};

/// The number of pairs kept; more did not save a step.
const MOST: usize = 10;

#[derive(Debug, Clone, Default)]
pub(super) struct Secants {
    /// Steps and changes in a ring, one after the other.
    steps: Vec<f64>,
    changes: Vec<f64>,
    /// sᵀy of each pair, and the values that the first loop leaves for the second.
    products: [f64; MOST],
    parts: [f64; MOST],
    length: usize,
    count: usize,
    next: usize,
}

/// Both ends of a step.
pub(super) struct Ends<'a> {
    pub(super) theta: [&'a [f64]; 2],
    pub(super) gradient: [&'a [f64]; 2],
}

impl Secants {
    pub(super) fn new(length: usize) -> Self {
        let room = || vec![0.0; MOST * length];
        Self { steps: room(), changes: room(), length, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.next) = (0, 0);
    }

    /// Learns from a step in the `moving` parameters; false if the curvature along it is not positive.
    pub(super) fn add(&mut self, ends: &Ends<'_>, moving: &[bool]) -> bool {
        let place = self.next * self.length..(self.next + 1) * self.length;
        let (step, change) = (&mut self.steps[place.clone()], &mut self.changes[place]);
        for (i, moving) in moving.iter().enumerate() {
            let [from, to] = ends.theta.map(|theta| theta[i]);
            let [before, after] = ends.gradient.map(|gradient| gradient[i]);
            (step[i], change[i]) = if *moving { (to - from, after - before) } else { (0.0, 0.0) };
        }
        let curvature = product(step, change);
        if !(curvature > 0.0 && curvature.is_normal()) {
            return false;
        }
        self.products[self.next] = curvature;
        self.next = (self.next + 1) % MOST;
        self.count = (self.count + 1).min(MOST);
        true
    }

    /// The pairs' places, the latest first.
    fn latest(count: usize, next: usize) -> impl DoubleEndedIterator<Item = usize> {
        (1..=count).map(move |back| (next + MOST - back) % MOST)
    }

    /// The first loop, before a solve with the factor.
    pub(super) fn before(&mut self, vector: &mut [f64]) {
        let length = self.length;
        for at in Self::latest(self.count, self.next) {
            let place = at * length..(at + 1) * length;
            let part = product(&self.steps[place.clone()], vector) / self.products[at];
            add_multiple(vector, -part, &self.changes[place]);
            self.parts[at] = part;
        }
    }

    /// The second loop, after the solve.
    pub(super) fn after(&self, vector: &mut [f64]) {
        let length = self.length;
        for at in Self::latest(self.count, self.next).rev() {
            let place = at * length..(at + 1) * length;
            let part = product(&self.changes[place.clone()], vector) / self.products[at];
            add_multiple(vector, self.parts[at] - part, &self.steps[place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a quadratic function with exact steps, the inverse is exact along the past steps.
    #[test]
    fn the_inverse_takes_each_change_back_to_its_step() {
        let hessian = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let gradient = |theta: &[f64]| -> Vec<f64> {
            hessian.iter().map(|row| row.iter().zip(theta).map(|(h, t)| h * t).sum()).collect()
        };
        let points = [[0.0; 3], [1.0, -0.5, 0.3], [0.2, 0.7, -1.0]];
        let mut secants = Secants::new(3);
        for pair in points.windows(2) {
            let [before, after] = [gradient(&pair[0]), gradient(&pair[1])];
            let ends = Ends { theta: [&pair[0], &pair[1]], gradient: [&before, &after] };
            assert!(secants.add(&ends, &[true; 3]));
        }
        let [from, to] = [gradient(&points[1]), gradient(&points[2])];
        let mut vector: Vec<f64> = to.iter().zip(&from).map(|(to, from)| to - from).collect();
        secants.before(&mut vector);
        secants.after(&mut vector);
        for (i, value) in vector.iter().enumerate() {
            assert!((value - (points[2][i] - points[1][i])).abs() < 1e-14);
        }
        let ends = Ends { theta: [&points[1], &points[2]], gradient: [&to, &from] };
        assert!(!secants.add(&ends, &[true; 3]), "curvature downwards");
        assert!(!secants.add(&ends, &[false; 3]), "nothing moves");
    }
}
