//! Second derivatives of a product of which a factor is zero.

use super::Members;
use crate::kernel::evaluate::{products_of_others, scalar_factors};
use crate::kernel::scratch::Scratch;
use crate::model::layout::{Block, Layout};

/// The scalar part of a block whose product P vanishes: with one factor z at zero, P = z·Q and
/// ∂²P = e_z kᵀ + k e_zᵀ with k = ∂z ∂Q; with two, ∂²P = ∂z₁ ∂z₂ Q (e₁e₂ᵀ + e₂e₁ᵀ).
#[inline(never)]
pub(super) fn vanishing_part(
    layout: &Layout,
    block: &Block,
    scratch: &Scratch,
    pull: f64,
    members: &mut Members,
) {
    let elimination = &layout.elimination;
    let factors = scalar_factors(layout, block, scratch);
    let free = block.free_factors.clone().map(|entry| (elimination.member_of_free[entry], 0.0));
    let first = block.normsys.start;
    let normsys = (first..first + block.normsys_used)
        .map(|entry| (elimination.member_of_normsys[entry], scratch.curvature[entry]));
    let places: Vec<(u32, f64)> = free.chain(normsys).collect();
    let others = products_of_others(&factors);
    for ((factor, others), (member, second)) in factors.iter().zip(&others).zip(&places) {
        members.slope[*member as usize] = factor.slope * others;
        members.diagonal[*member as usize] += pull * second * others;
    }
    let zeros: Vec<usize> = (0..factors.len()).filter(|&at| factors[at].value == 0.0).collect();
    match *zeros.as_slice() {
        [zero] => {
            let member = places[zero].0 as usize;
            members.a[member] = 1.0;
            for (at, factor) in factors.iter().enumerate() {
                if at != zero {
                    let slope = factors[zero].slope * others[zero];
                    members.b[places[at].0 as usize] += pull * slope * factor.slope / factor.value;
                }
            }
        }
        [one, two] => {
            let mut rest = 1.0;
            for (at, factor) in factors.iter().enumerate() {
                if at != one && at != two {
                    rest *= factor.value;
                }
            }
            members.a[places[one].0 as usize] = 1.0;
            members.b[places[two].0 as usize] +=
                pull * factors[one].slope * factors[two].slope * rest;
        }
        _ => {}
    }
}
