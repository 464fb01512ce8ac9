//! Chooses the parameters that a Hessian can eliminate in their bin, and the places of the others.

use super::fronts::{Ordering, Plan, plan};
use super::layout::{Elimination, Front, Layout, Place, Run, padded};

/// Finds the parameters that affect one bin, and the places of the others.
#[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
pub(crate) fn eliminate(layout: &mut Layout, ordering: Ordering) {
    let parameters = layout.names.len();
    // The only bin of a parameter, if it is a per-bin factor with one bin.
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
    let is_local: Vec<bool> = bin_of.iter().map(|bin| bin.flatten().is_some()).collect();
    order(layout, &is_local, &mut out, ordering);
    out.runs = runs(&out.place);
    members(layout, &mut out);
    layout.elimination = out;
}

/// Orders the other parameters by the fronts that eliminate them.
#[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
fn order(layout: &mut Layout, is_local: &[bool], out: &mut Elimination, ordering: Ordering) {
    let is_global = |parameter: &usize| !is_local[*parameter];
    let globals: Vec<usize> = (0..is_local.len()).filter(is_global).collect();
    let mut number = vec![usize::MAX; is_local.len()];
    globals.iter().enumerate().for_each(|(at, &parameter)| number[parameter] = at);
    let channels: Vec<(Vec<usize>, usize)> = layout
        .channels
        .iter()
        .map(|channel| {
            let blocks = channel.blocks.clone();
            let mut seen: Vec<usize> =
                blocks.flat_map(|block| parameters_of(layout, block)).collect();
            seen.retain(is_global);
            for parameter in &mut seen {
                *parameter = number[*parameter];
            }
            seen.sort_unstable();
            seen.dedup();
            (seen, channel.bins.len())
        })
        .collect();
    let plans = plan(globals.len(), &channels, ordering);
    for own in plans.iter().flat_map(|plan| &plan.own) {
        out.place[globals[*own]] = Place::Global(out.global.len() as u32);
        number[globals[*own]] = out.global.len();
        out.global.push(globals[*own] as u32);
    }
    out.front_of_bin = vec![0; layout.bins];
    out.row_of_bin = vec![0; layout.bins];
    for plan in &plans {
        let parameters = plan.own.iter().chain(&plan.boundary).map(|&at| globals[at]);
        let mut places: Vec<u32> = parameters.map(|parameter| number[parameter] as u32).collect();
        places.sort_unstable();
        let front = front(layout, plan, places, out);
        out.fronts.push(front);
    }
    for at in 0..out.fronts.len() {
        let Some(parent) = out.fronts[at].parent else { continue };
        let of_parent = &out.fronts[parent].places;
        let rest = out.fronts[at].places[out.fronts[at].own..].iter();
        let places = rest.map(|place| of_parent.partition_point(|known| known < place) as u32);
        out.fronts[at].in_parent = places.collect();
    }
}

/// All parameters of a block.
fn parameters_of(layout: &Layout, block: usize) -> impl Iterator<Item = usize> {
    let block = &layout.blocks[block];
    let histosys = block.histosys.start..block.histosys.start + block.histosys_used;
    let gammas = block.gammas..block.gammas + block.gamma_count * block.bin_count();
    let lists = [
        &layout.free_factors[block.free_factors.clone()],
        &layout.normsys_parameter[block.normsys.clone()],
        &layout.histosys_parameter[histosys],
        &layout.gamma_parameter[gammas],
    ];
    lists.into_iter().flatten().map(|parameter| *parameter as usize)
}

/// A front with its places, and the bins and blocks of its channels.
#[expect(clippy::cast_possible_truncation, reason = "indices of bins fit in 32 bits")]
fn front(layout: &mut Layout, plan: &Plan, places: Vec<u32>, out: &mut Elimination) -> Front {
    let mut front = Front {
        own: plan.own.len(),
        parameters: places.iter().map(|place| out.global[*place as usize]).collect(),
        places,
        parent: plan.parent,
        ..Front::default()
    };
    for &channel in &plan.channels {
        let channel = &layout.channels[channel];
        for bin in channel.bins.clone() {
            out.front_of_bin[bin] = out.fronts.len() as u32;
            out.row_of_bin[bin] = front.bins.len() as u32;
            front.bins.push(bin as u32);
        }
        for block in channel.blocks.clone() {
            layout.blocks[block].front = out.fronts.len();
            layout.blocks[block].padded_bins = front.padded_bins;
            front.blocks.push(block as u32);
        }
        front.padded_bins += padded(channel.bins.len());
    }
    front
}

fn runs(places: &[Place]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (parameter, place) in places.iter().enumerate() {
        let place = match place {
            Place::Global(place) => Some(*place as usize),
            Place::Local(_) => None,
        };
        match runs.last_mut() {
            Some(run) if run.place.map(|first| first + run.parameters.len()) == place => {
                run.parameters.end += 1;
            }
            _ => runs.push(Run { parameters: parameter..parameter + 1, place }),
        }
    }
    runs
}

/// The distinct dense parameters of each block, and the one of each entry.
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
        // In the order of the front, so that pairs lie in its upper triangle.
        seen.sort_unstable_by_key(|parameter| out.place[*parameter as usize]);
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
                out.member.push(out.fronts[block.front].index_of(place));
            }
        }
        block.members = start..out.member.len();
    }
}
