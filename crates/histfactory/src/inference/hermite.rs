//! Interpolation by the polynomial with given values and slopes.

/// A point, with the value and the slope there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) slope: f64,
}

/// The polynomial through all nodes, by divided differences in which every node counts twice.
pub(super) fn interpolate(nodes: &[Node], at: f64) -> f64 {
    let places: Vec<f64> = nodes.iter().flat_map(|node| [node.x, node.x]).collect();
    let mut differences: Vec<f64> = nodes.iter().flat_map(|node| [node.y, node.y]).collect();
    let count = differences.len();
    for order in 1..count {
        for index in (order..count).rev() {
            let width = places[index] - places[index - order];
            differences[index] = if width == 0.0 {
                nodes[index / 2].slope
            } else {
                (differences[index] - differences[index - 1]) / width
            };
        }
    }
    (0..count).rev().fold(0.0, |sum, index| sum * (at - places[index]) + differences[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_of_fitting_degree_is_reproduced() {
        let cubic = |x: f64| 1.0 + x * (2.0 - x * (0.5 - 0.3 * x));
        let slope = |x: f64| 2.0 - x + 0.9 * x * x;
        let node = |x: f64| Node { x, y: cubic(x), slope: slope(x) };
        for at in [-1.0, 0.3, 2.5] {
            assert!((interpolate(&[node(0.0), node(1.5)], at) - cubic(at)).abs() < 1e-12);
            let three = [node(0.0), node(1.5), node(2.0)];
            assert!((interpolate(&three, at) - cubic(at)).abs() < 1e-11);
        }
        assert!((interpolate(&[node(1.0)], 1.2) - (cubic(1.0) + 0.2 * slope(1.0))).abs() < 1e-15);
    }
}
