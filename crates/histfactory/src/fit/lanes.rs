//! Solves for several right-hand sides at once: one toy in each lane of a vector.
//!
//! Each number of a single toy becomes a vector with that number of every toy. Each lane is computed
//! independently, so a toy's result does not depend on its neighbours.

use super::narrow::Narrow;
use super::system::{Eliminated, System};
use crate::kernel::{Aligned, Curvature, Simd, WithSimd, dispatch, vectors, vectors_mut};
use crate::linalg::Symmetric;
use crate::model::layout::{Front, LANES, Layout};

/// Numbers of as many toys as a vector has lanes, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    values: Aligned,
}

impl Lanes {
    pub(super) fn zeros(length: usize) -> Self {
        Self { values: Aligned::zeros(length * LANES) }
    }

    pub(super) fn clear(&mut self) {
        self.values.fill(0.0);
    }

    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> &[f64] {
        &self.values[index * LANES..(index + 1) * LANES]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: usize) -> &mut [f64] {
        &mut self.values[index * LANES..(index + 1) * LANES]
    }

    pub(super) fn all_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// The numbers of a front's parameters.
    #[inline(always)]
    fn gather(&mut self, dense: &Self, front: &Front) {
        for (at, &place) in front.places.iter().enumerate() {
            self.get_mut(at).copy_from_slice(dense.get(place as usize));
        }
    }

    /// The numbers of one toy.
    pub(super) fn of_lane(&self, lane: usize) -> impl Iterator<Item = f64> {
        self.values.chunks_exact(LANES).map(move |values| values[lane])
    }
}

/// Adds `scales` times the numbers of `row` to those of `target`, one sum for each number.
#[inline(always)]
pub(super) fn spread<S: Simd>(simd: S, target: &mut [f64], scales: &[f64], row: &[f64]) {
    let scales = vectors::<S>(scales);
    for (target, &value) in target.chunks_exact_mut(LANES).zip(row) {
        let value = simd.splat_f64s(value);
        for (target, scale) in vectors_mut::<S>(target).iter_mut().zip(scales) {
            *target = simd.mul_add_e_f64s(*scale, value, *target);
        }
    }
}

/// Σ of `values` times the numbers of `row`.
#[inline(always)]
fn weighed<S: Simd>(simd: S, values: &[f64], row: &[f64]) -> [f64; LANES] {
    let mut sums = [[0.0; LANES]; 2];
    let pairs = values.chunks_exact(2 * LANES).zip(row.chunks_exact(2));
    let [mut even, mut odd] = [[simd.splat_f64s(0.0); LANES]; 2];
    let per = LANES / S::F64_LANES;
    for (values, row) in pairs {
        let values = vectors::<S>(values);
        let [one, two] = [simd.splat_f64s(row[0]), simd.splat_f64s(row[1])];
        for at in 0..per {
            even[at] = simd.mul_add_e_f64s(one, values[at], even[at]);
            odd[at] = simd.mul_add_e_f64s(two, values[per + at], odd[at]);
        }
    }
    let count = row.len().min(values.len() / LANES);
    if count % 2 == 1 {
        let values = vectors::<S>(&values[(count - 1) * LANES..count * LANES]);
        let last = simd.splat_f64s(row[count - 1]);
        for at in 0..per {
            even[at] = simd.mul_add_e_f64s(last, values[at], even[at]);
        }
    }
    vectors_mut::<S>(&mut sums[0]).copy_from_slice(&even[..per]);
    vectors_mut::<S>(&mut sums[1]).copy_from_slice(&odd[..per]);
    std::array::from_fn(|lane| sums[0][lane] + sums[1][lane])
}

/// Solves UᵀU x = b in each lane of b.
#[inline(always)]
fn solve_factor<S: Simd>(simd: S, factor: &Symmetric, b: &mut [f64]) {
    forward(simd, factor, factor.n, b);
    backward(simd, factor, factor.n, b);
}

/// [`crate::linalg::forward`] in each lane of b.
#[inline(always)]
fn forward<S: Simd>(simd: S, factor: &Symmetric, own: usize, b: &mut [f64]) {
    let n = factor.n;
    let b = &mut b[..n * LANES];
    for row in 0..own {
        let values = &factor.row(row)[..n];
        let (before, after) = b.split_at_mut((row + 1) * LANES);
        let this = &mut before[row * LANES..];
        for x in this.iter_mut() {
            *x /= values[row];
        }
        let scales: [f64; LANES] = std::array::from_fn(|lane| -this[lane]);
        spread(simd, after, &scales, &values[row + 1..]);
    }
}

/// [`crate::linalg::backward`] in each lane of b.
#[inline(always)]
fn backward<S: Simd>(simd: S, factor: &Symmetric, own: usize, b: &mut [f64]) {
    let n = factor.n;
    let b = &mut b[..n * LANES];
    for row in (0..own).rev() {
        let values = &factor.row(row)[..n];
        let (before, after) = b.split_at_mut((row + 1) * LANES);
        let sums = weighed(simd, after, &values[row + 1..]);
        for (x, sum) in before[row * LANES..].iter_mut().zip(sums) {
            *x = (*x - sum) / values[row];
        }
    }
}

/// [`super::system::small_solve`] in each lane.
#[inline(always)]
fn small_solve(factor: &[f64], b: &mut [[f64; LANES]]) {
    let n = b.len();
    for lane in 0..LANES {
        for i in 0..n {
            for k in 0..i {
                b[i][lane] -= factor[i * n + k] * b[k][lane];
            }
            b[i][lane] /= factor[i * n + i];
        }
        for i in (0..n).rev() {
            for k in i + 1..n {
                b[i][lane] -= factor[k * n + i] * b[k][lane];
            }
            b[i][lane] /= factor[i * n + i];
        }
    }
}

impl System {
    /// As [`System::solve`], in each lane of `vector`.
    pub(super) fn solve_lanes(
        &self,
        layout: &Layout,
        curvature: &Curvature,
        free: &[bool],
        vector: &mut Lanes,
    ) {
        if self.is_narrow {
            dispatch(InBins { narrow: &self.narrow, vector });
        } else {
            dispatch(InParameters { system: self, layout, curvature, free, vector });
        }
    }
}

struct InBins<'a> {
    narrow: &'a Narrow,
    vector: &'a mut Lanes,
}

impl WithSimd for InBins<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { narrow, vector } = self;
        let (stride, bins) = (narrow.factor.stride.max(1), narrow.factor.n);
        let mut y = Lanes::zeros(stride);
        let mut solution = Lanes::zeros(vector.values.len() / LANES);
        for (&(parameter, _), row) in narrow.wide.iter().zip(narrow.right.chunks_exact(stride)) {
            spread(simd, &mut y.values, vector.get(parameter), &row[..bins]);
        }
        for local in &narrow.locals {
            let right = vector.get(local.parameter);
            for (y, right) in y.get_mut(local.bin).iter_mut().zip(right) {
                *y += local.x * local.inverse * right;
            }
        }
        solve_factor(simd, &narrow.factor, &mut y.values);
        let mut of_border = Vec::with_capacity(narrow.border.len());
        for (&parameter, x) in narrow.border.iter().zip(narrow.columns.chunks_exact(stride)) {
            let known = weighed(simd, &y.values, &x[..bins]);
            let right = vector.get(parameter);
            of_border.push(std::array::from_fn(|lane| right[lane] - known[lane]));
        }
        small_solve(&narrow.small, &mut of_border);
        let solved = narrow.solved.chunks_exact(stride);
        for ((&parameter, p), solved) in narrow.border.iter().zip(of_border).zip(solved) {
            solution.get_mut(parameter).copy_from_slice(&p);
            spread(simd, &mut y.values, &p, &solved[..bins]);
        }
        let rows = narrow.left.chunks_exact(stride);
        for (&(parameter, inverse), row) in narrow.wide.iter().zip(rows) {
            let sums = weighed(simd, &y.values, &row[..bins]);
            let pairs = vector.get(parameter).iter().zip(sums);
            for (p, (right, sum)) in solution.get_mut(parameter).iter_mut().zip(pairs) {
                *p = inverse * (right - sum);
            }
        }
        for local in &narrow.locals {
            let pairs = vector.get(local.parameter).iter().zip(y.get(local.bin));
            for (p, (right, y)) in solution.get_mut(local.parameter).iter_mut().zip(pairs) {
                *p = local.inverse * (right - local.x * y);
            }
        }
        *vector = solution;
    }
}

struct InParameters<'a> {
    system: &'a System,
    layout: &'a Layout,
    curvature: &'a Curvature,
    free: &'a [bool],
    vector: &'a mut Lanes,
}

impl WithSimd for InParameters<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { system, layout, curvature, free, vector } = self;
        let elimination = &layout.elimination;
        let parameter_of = |local: &usize| elimination.local[*local] as usize;
        let widest = elimination.fronts.iter().map(Front::len).max().unwrap_or(0);
        let mut dense = Lanes::zeros(elimination.global.len());
        let mut of_front = Lanes::zeros(widest);
        for (place, &parameter) in elimination.global.iter().enumerate() {
            dense.get_mut(place).copy_from_slice(vector.get(parameter as usize));
        }
        let fronts = elimination.fronts.iter().zip(&curvature.parts).zip(&system.factors);
        for ((front, part), factor) in fronts.clone() {
            let count = front.len();
            of_front.gather(&dense, front);
            let right = &mut of_front.values[..count * LANES];
            for (row, &bin) in front.bins.iter().enumerate() {
                match &system.bins[bin as usize] {
                    Eliminated::Nothing => {}
                    Eliminated::One { local, diagonal, multiple } => {
                        let of_local = vector.get(parameter_of(local));
                        let scales: [f64; LANES] =
                            std::array::from_fn(|lane| -(multiple * of_local[lane] / diagonal));
                        spread(simd, right, &scales, &part.row(row)[..count]);
                    }
                    Eliminated::Several { locals, factor, first } => {
                        let mut of_locals = gathered(vector, locals.iter().map(parameter_of));
                        small_solve(factor, &mut of_locals);
                        let rows = system.rows[*first..].chunks_exact(part.dense.stride.max(1));
                        for (row, of_local) in rows.zip(of_locals) {
                            let scales = of_local.map(|of_local| -of_local);
                            spread(simd, right, &scales, &row[..count]);
                        }
                    }
                }
            }
            let used = &system.used[front.first()..][..front.own];
            for (values, used) in right.chunks_exact_mut(LANES).zip(used) {
                if !used {
                    values.fill(0.0);
                }
            }
            forward(simd, factor, front.own, right);
            for (at, &place) in front.places.iter().enumerate() {
                dense.get_mut(place as usize).copy_from_slice(of_front.get(at));
            }
        }
        for (parameter, is_free) in free.iter().enumerate() {
            if !is_free {
                vector.get_mut(parameter).fill(0.0);
            }
        }
        for ((front, part), factor) in fronts.rev() {
            let count = front.len();
            of_front.gather(&dense, front);
            backward(simd, factor, front.own, &mut of_front.values[..count * LANES]);
            for at in 0..front.own {
                dense.get_mut(front.first() + at).copy_from_slice(of_front.get(at));
                vector.get_mut(front.parameters[at] as usize).copy_from_slice(of_front.get(at));
            }
            let solution = &of_front.values[..count * LANES];
            for (row, &bin) in front.bins.iter().enumerate() {
                match &system.bins[bin as usize] {
                    Eliminated::Nothing => {}
                    Eliminated::One { local, diagonal, multiple } => {
                        let sums = weighed(simd, solution, &part.row(row)[..count]);
                        let values = vector.get_mut(parameter_of(local)).iter_mut();
                        values.zip(sums).for_each(|(x, sum)| *x = (*x - multiple * sum) / diagonal);
                    }
                    Eliminated::Several { locals, factor, first } => {
                        let mut right = gathered(vector, locals.iter().map(parameter_of));
                        let rows = system.rows[*first..].chunks_exact(part.dense.stride.max(1));
                        for (right, row) in right.iter_mut().zip(rows) {
                            let sums = weighed(simd, solution, &row[..count]);
                            right.iter_mut().zip(sums).for_each(|(x, sum)| *x -= sum);
                        }
                        small_solve(factor, &mut right);
                        for (local, value) in locals.iter().zip(right) {
                            vector.get_mut(parameter_of(local)).copy_from_slice(&value);
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn gathered(vector: &Lanes, parameters: impl Iterator<Item = usize>) -> Vec<[f64; LANES]> {
    parameters.map(|parameter| std::array::from_fn(|lane| vector.get(parameter)[lane])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Information;
    use crate::synthetic::Twin;
    use crate::{Model, ModelOptions};

    #[test]
    fn each_lane_equals_a_single_solve() {
        for twin in Twin::ALL {
            let model = Model::new(&twin.workspace(3), &ModelOptions::default()).unwrap();
            let layout = &model.layout;
            let mut evaluator = model.evaluator(model.observed());
            let gradient = evaluator.nll_and_gradient(model.init()).unwrap().1.to_vec();
            let mut curvature = Curvature::new(layout);
            for information in [Information::Fisher, Information::Exact] {
                evaluator.collect(&mut curvature, information);
                for every in [1000, 3] {
                    let free: Vec<bool> = (0..gradient.len()).map(|at| at % every != 1).collect();
                    let mut system = System::new(layout);
                    if !system.factorise(layout, &curvature, &free, 0.0) {
                        assert_eq!(information, Information::Exact);
                        continue;
                    }
                    let right = |lane: usize| -> Vec<f64> {
                        let shift = [0.0, 1.0, -2.0, 0.25][lane];
                        gradient.iter().map(|slope| slope * shift + shift).collect()
                    };
                    let mut lanes = Lanes::zeros(gradient.len());
                    for lane in 0..LANES {
                        for (at, value) in right(lane).into_iter().enumerate() {
                            lanes.get_mut(at)[lane] = value;
                        }
                    }
                    system.solve_lanes(layout, &curvature, &free, &mut lanes);
                    for lane in 0..LANES {
                        let mut alone = right(lane);
                        system.solve(layout, &curvature, &free, &mut alone);
                        for (one, two) in lanes.of_lane(lane).zip(alone) {
                            assert!((one - two).abs() < 1e-9 * (1.0 + two.abs()), "{one} {two}");
                        }
                    }
                }
            }
        }
    }
}
