//! Which parameters a Hessian can eliminate in their bin, and where the others go.

use super::layout::{Elimination, Layout, Place, Run};

/// Finds the parameters that touch one bin, and where the others go.
#[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
pub(super) fn eliminate(layout: &mut Layout) {
    let parameters = layout.names.len();
    // The only bin of a parameter, if it is a per-bin factor with one.
    let mut bin_of: Vec<Option<Option<usize>>> = vec![None; parameters];
    let mut carried: Vec<usize> = vec![0; parameters];
    for block in &layout.blocks {
        for gamma in 0..block.gamma_count {
            for bin in 0..block.bin_count() {
                let slot = block.gammas + gamma * block.bin_count() + bin;
                let parameter = layout.gamma_parameter[slot] as usize;
                let here = block.bins.start + bin;
                carried[parameter] += 1;
                bin_of[parameter] = match bin_of[parameter] {
                    None => Some(Some(here)),
                    Some(Some(known)) if known == here => Some(Some(here)),
                    Some(_) => Some(None),
                };
            }
        }
    }
    let mut locals: Vec<(usize, u32)> = (0..parameters)
        .filter_map(|parameter| Some((bin_of[parameter]??, parameter as u32)))
        .collect();
    locals.sort_unstable();
    let mut out =
        Elimination { place: vec![Place::Global(0); parameters], ..Elimination::default() };
    let mut next = 0;
    for bin in 0..layout.bins {
        let start = next;
        while next < locals.len() && locals[next].0 == bin {
            next += 1;
        }
        out.local_of_bin.push(start..next);
    }
    for (index, (bin, parameter)) in locals.iter().enumerate() {
        out.place[*parameter as usize] = Place::Local(index as u32);
        out.local.push(*parameter);
        let channel = layout.channels.iter().find(|channel| channel.bins.contains(bin));
        let blocks = channel.map_or(0, |channel| channel.blocks.len());
        out.covers_bin.push(carried[*parameter as usize] == blocks);
    }
    for parameter in 0..parameters {
        if bin_of[parameter].flatten().is_none() {
            out.place[parameter] = Place::Global(out.global.len() as u32);
            out.global.push(parameter as u32);
        }
    }
    out.runs = runs(&out.place);
    members(layout, &mut out);
    layout.elimination = out;
}

fn runs(places: &[Place]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (parameter, place) in places.iter().enumerate() {
        let place = match place {
            Place::Global(place) => Some(*place as usize),
            Place::Local(_) => None,
        };
        match runs.last_mut() {
            Some(run) if run.place.is_some() == place.is_some() => run.parameters.end += 1,
            _ => runs.push(Run { parameters: parameter..parameter + 1, place }),
        }
    }
    runs
}

/// The distinct dense parameters of each block, and which of them each entry belongs to.
fn members(layout: &mut Layout, out: &mut Elimination) {
    let parameters = layout.names.len();
    out.member_of_free = vec![0; layout.free_factors.len()];
    out.member_of_normsys = vec![0; layout.normsys_parameter.len()];
    out.member_of_histosys = vec![0; layout.histosys_parameter.len()];
    let mut number: Vec<u32> = vec![0; parameters];
    for block in &mut layout.blocks {
        let start = out.member.len();
        let histosys = block.histosys.start..block.histosys.start + block.histosys_used;
        let entries = [
            (block.free_factors.clone(), &layout.free_factors, &mut out.member_of_free),
            (block.normsys.clone(), &layout.normsys_parameter, &mut out.member_of_normsys),
            (histosys, &layout.histosys_parameter, &mut out.member_of_histosys),
        ];
        let mut seen: Vec<u32> = Vec::new();
        for (range, parameter, _) in &entries {
            seen.extend(&parameter[range.clone()]);
        }
        // In the order of the dense part, so that pairs fall in its upper triangle.
        seen.sort_unstable();
        seen.dedup();
        for (parameter, member) in seen.iter().zip(0_u32..) {
            number[*parameter as usize] = member;
        }
        for (range, parameter, member) in entries {
            for entry in range {
                member[entry] = number[parameter[entry] as usize];
            }
        }
        for parameter in seen {
            if let Place::Global(place) = out.place[parameter as usize] {
                out.member.push(place);
            }
        }
        block.members = start..out.member.len();
    }
}
