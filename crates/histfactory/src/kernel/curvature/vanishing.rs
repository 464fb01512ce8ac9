//! Second derivatives of a product with a factor of zero.

use super::Members;
use crate::kernel::factors::{products_of_others, scalar_factors};
use crate::kernel::scratch::Scratch;
use crate::model::layout::{Block, Layout};
use crate::model::numbers::Numbers;

/// The scalar part of a block whose product P vanishes: with one factor z at zero, P = z·Q and
/// ∂²P = e_z kᵀ + k e_zᵀ with k = ∂z ∂Q; with two, ∂²P = ∂z₁ ∂z₂ Q (e₁e₂ᵀ + e₂e₁ᵀ).
#[inline(never)]
pub(super) fn vanishing_part(
    layout: &Layout,
    numbers: &Numbers,
    block: &Block,
    scratch: &Scratch,
    pull: f64,
    members: &mut Members,
) {
    let elimination = &layout.elimination;
    let factors = scalar_factors(layout, numbers, block, scratch);
    let places: Vec<u32> = [
        &elimination.member_of_free[block.free_factors.clone()],
        &elimination.member_of_normsys[block.normsys.clone()],
    ]
    .concat();
    let others = products_of_others(&factors);
    for ((factor, others), member) in factors.iter().zip(&others).zip(&places) {
        members.slope[*member as usize] = factor.slope * others;
        members.diagonal[*member as usize] += pull * factor.curvature * others;
    }
    let zeros: Vec<usize> = (0..factors.len()).filter(|&at| factors[at].value == 0.0).collect();
    match *zeros.as_slice() {
        [zero] => {
            let member = places[zero] as usize;
            members.a[member] = 1.0;
            for (at, factor) in factors.iter().enumerate() {
                if at != zero {
                    let slope = factors[zero].slope * others[zero];
                    members.b[places[at] as usize] += pull * slope * factor.slope / factor.value;
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
            members.a[places[one] as usize] = 1.0;
            members.b[places[two] as usize] +=
                pull * factors[one].slope * factors[two].slope * rest;
        }
        _ => {}
    }
}
