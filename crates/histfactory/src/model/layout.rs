//! The structure of a compiled model, which stays the same when its numbers change.
//!
//! A block is a sample in a channel. All blocks of a channel are adjacent, and so are a block's
//! entries of each kind. Padding refers to a parameter that does not exist and is always zero.
//!
//! The numbers of a block's yields that the likelihood reads lie in one stream, in reading order: for every
//! [`WIDE`] bins their nominal yields, then S and A of each histosys in these bins. All are vectors, padded
//! with zeros. If only one or two bins are left, their S and A share a vector.

use std::ops::Range;

use super::ModelOptions;
use super::factors::Factors;

/// The length of a vector that a kernel processes at once.
pub(crate) const LANES: usize = 4;

/// The largest number of bins that are processed together: two vectors.
pub(crate) const WIDE: usize = 2 * LANES;

pub(crate) const fn padded(length: usize) -> usize {
    length.next_multiple_of(LANES)
}

#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) options: ModelOptions,
    pub(crate) channels: Vec<ChannelLayout>,
    /// All sample names, sorted.
    pub(crate) samples: Vec<String>,
    pub(crate) sets: Vec<ParameterSet>,
    pub(crate) names: Vec<String>,
    pub(crate) init: Vec<f64>,
    pub(crate) bounds: Vec<[f64; 2]>,
    pub(crate) poi: Option<usize>,
    pub(crate) bins: usize,
    pub(crate) yields: usize,
    /// The length of the yields if each block begins with a whole vector.
    pub(crate) shapes: usize,
    pub(crate) auxiliary: usize,
    pub(crate) blocks: Vec<Block>,
    /// For each block.
    pub(crate) outlines: Vec<Outline>,
    /// Parameters of normfactors and lumi, by block.
    pub(crate) free_factors: Vec<u32>,
    /// The blocks of each parameter in `free_factors`, and these parameters.
    pub(crate) free_of: Grouped,
    pub(crate) free_parameters: Vec<u32>,
    pub(crate) normsys_parameter: Vec<u32>,
    /// The entries of each parameter in `normsys_parameter`.
    pub(crate) normsys_of: Grouped,
    /// The same in the order of computation.
    pub(crate) factors: Factors,
    pub(crate) histosys_parameter: Vec<u32>,
    /// Parameters with at least one histosys.
    pub(crate) histosys_parameters: Vec<u32>,
    /// Parameters of per-bin factors: for each block, each factor, each bin.
    pub(crate) gamma_parameter: Vec<u32>,
    /// The first of them for each block and factor: those of the other bins follow it.
    pub(crate) gamma_first: Vec<u32>,
    pub(crate) staterrors: Vec<StaterrorBin>,
    pub(crate) carriers: Vec<Carrier>,
    pub(crate) shapesys: Vec<ShapesysBin>,
    pub(crate) elimination: Elimination,
}

#[derive(Debug)]
pub(crate) struct ChannelLayout {
    pub(crate) name: String,
    pub(crate) bins: Range<usize>,
    pub(crate) blocks: Range<usize>,
}

/// The parameters of one name.
#[derive(Debug)]
pub(crate) struct ParameterSet {
    pub(crate) name: String,
    pub(crate) parameters: Range<usize>,
}

/// A sample in a channel.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) sample: usize,
    /// Bins of the model.
    pub(crate) bins: Range<usize>,
    /// The index of its first nominal yield.
    pub(crate) yields: usize,
    /// The same if each block begins with a whole vector.
    pub(crate) shapes: usize,
    pub(crate) free_factors: Range<usize>,
    pub(crate) normsys: Range<usize>,
    /// Entries, padded. In the workspace's own numbers the templates of a bin are adjacent.
    pub(crate) histosys: Range<usize>,
    pub(crate) histosys_used: usize,
    pub(crate) templates: usize,
    /// The start of its part of the stream.
    pub(crate) stream: usize,
    /// The front of its channel, and its first bin there; each channel begins with a whole vector.
    pub(crate) front: usize,
    pub(crate) padded_bins: usize,
    pub(crate) gammas: usize,
    pub(crate) gamma_firsts: Range<usize>,
    pub(crate) gamma_count: usize,
    /// The modifiers' names are those of their parameters; these are shapefactor, shapesys or
    /// staterror in this order of `gammas`.
    pub(crate) members: Range<usize>,
}

/// The part of a block that the likelihood reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outline {
    pub(crate) stream: u32,
    pub(crate) histosys: u32,
    pub(crate) entries: u32,
    pub(crate) shapes: u32,
    gammas: [u32; 2],
}

impl Outline {
    #[expect(clippy::cast_possible_truncation, reason = "no model has as many numbers as that")]
    pub(crate) fn new(block: &Block) -> Self {
        let short = |range: &Range<usize>| [range.start as u32, range.end as u32];
        Self {
            stream: block.stream as u32,
            histosys: block.histosys.start as u32,
            entries: block.histosys_used as u32,
            shapes: block.shapes as u32,
            gammas: short(&block.gamma_firsts),
        }
    }

    /// Its per-bin factors in `gamma_first`.
    #[inline(always)]
    pub(crate) fn gammas(&self) -> Range<usize> {
        self.gammas[0] as usize..self.gammas[1] as usize
    }
}

impl Block {
    pub(crate) fn bin_count(&self) -> usize {
        self.bins.len()
    }

    pub(crate) fn stride(&self) -> usize {
        self.histosys.len()
    }

    pub(crate) fn stream_length(&self) -> usize {
        Piece::split(self.bin_count()).map(|piece| piece.length(self.histosys_used)).sum()
    }

    /// Its part of the stream, piece by piece.
    #[inline(always)]
    pub(crate) fn pieces<'a>(
        &self,
        stream: &'a [f64],
    ) -> impl Iterator<Item = (Piece, &'a [f64])> + use<'a> {
        let (block, entries) = (self.stream, self.histosys_used);
        Piece::split(self.bin_count()).map(move |piece| {
            let start = block + piece.start(entries);
            (piece, &stream[start..start + piece.length(entries)])
        })
    }

    /// The position of a bin's nominal yield in the stream.
    pub(crate) fn nominal_in_stream(&self, bin: usize) -> usize {
        let piece = Piece::at(self.bin_count(), bin / WIDE * WIDE);
        self.stream + piece.start(self.histosys_used) + bin - piece.first
    }

    /// The positions of S and A of each histosys in a bin in the stream.
    #[inline(always)]
    pub(crate) fn templates_in_stream(
        &self,
        bin: usize,
    ) -> impl Iterator<Item = [usize; 2]> + use<> {
        let piece = Piece::at(self.bin_count(), bin / WIDE * WIDE);
        let (place, whole) = (bin - piece.first, piece.whole * LANES);
        // The remaining bins have A half a vector after S.
        let odd = if place < whole { place } else { place + whole };
        let even = if place < whole { odd + whole } else { odd + LANES / 2 };
        let start = self.stream + piece.start(self.histosys_used) + piece.all * LANES;
        let entries = (start..).step_by(piece.width()).take(self.histosys_used);
        entries.map(move |entry| [entry + odd, entry + even])
    }
}

/// Bins whose templates are contiguous in the stream: [`WIDE`] of a channel, or the last ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// The first bin in the channel, and the number of bins.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The number of vectors, and the number of those with S and A in separate vectors.
    pub(crate) all: usize,
    pub(crate) whole: usize,
}

impl Piece {
    /// All pieces of `bins` bins.
    #[inline(always)]
    pub(crate) fn split(bins: usize) -> impl Iterator<Item = Self> {
        (0..bins).step_by(WIDE).map(move |first| Self::at(bins, first))
    }

    #[inline(always)]
    fn at(bins: usize, first: usize) -> Self {
        let count = (bins - first).min(WIDE);
        Self { first, count, all: count.div_ceil(LANES), whole: (count + 1) / LANES }
    }

    /// The length of a histosys in this piece.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        (self.all + self.whole) * LANES
    }

    #[inline(always)]
    pub(crate) fn length(&self, histosys: usize) -> usize {
        self.all * LANES + self.width() * histosys
    }

    /// The start of the piece in the stream of its block: all previous pieces have [`WIDE`] bins.
    #[inline(always)]
    pub(crate) fn start(&self, histosys: usize) -> usize {
        self.first * (1 + 2 * histosys)
    }
}

/// Lists of indices, one for each key.
#[derive(Debug, Default)]
pub(crate) struct Grouped {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Grouped {
    pub(crate) fn new(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; keys + 1];
        for (key, _) in pairs.clone() {
            if (key as usize) < keys {
                starts[key as usize + 1] += 1;
            }
        }
        for key in 0..keys {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let mut items = vec![0; starts[keys] as usize];
        for (key, item) in pairs {
            if (key as usize) < keys {
                items[next[key as usize] as usize] = item;
                next[key as usize] += 1;
            }
        }
        Self { starts, items }
    }

    pub(crate) fn entries(&self, key: usize) -> &[u32] {
        &self.items[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

/// A staterror's factor in one bin, whose width follows from the carriers' yields.
#[derive(Debug)]
pub(crate) struct StaterrorBin {
    pub(crate) parameter: usize,
    pub(crate) carriers: Range<usize>,
    /// The measurement states the width, so it does not follow the yields.
    pub(crate) width_given: bool,
    pub(crate) fixed_given: bool,
}

#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) yield_index: usize,
    /// Index of its uncertainty.
    pub(crate) uncertainty: usize,
}

/// A shapesys' factor in one bin.
#[derive(Debug)]
pub(crate) struct ShapesysBin {
    pub(crate) parameter: usize,
    pub(crate) yield_index: usize,
    pub(crate) uncertainty: usize,
    /// The measurement states the auxiliary count, or the factor, so it does not follow the yields.
    pub(crate) auxiliary_given: bool,
    pub(crate) factor_given: bool,
    pub(crate) fixed_given: bool,
}

/// The parameters that affect a single bin and can be eliminated there, and the places of the others in the
/// dense part of a Hessian.
#[derive(Debug, Default)]
pub(crate) struct Elimination {
    pub(crate) place: Vec<Place>,
    /// All parameters, split where one of the dense part is next to one outside it.
    pub(crate) runs: Vec<Run>,
    /// Parameters of the dense part, in the order in which fronts eliminate them.
    pub(crate) global: Vec<u32>,
    /// Children before their parents.
    pub(crate) fronts: Vec<Front>,
    /// The front of each bin, and its number in that front.
    pub(crate) front_of_bin: Vec<u32>,
    pub(crate) row_of_bin: Vec<u32>,
    /// Parameters of one bin, sorted by bin.
    pub(crate) local: Vec<u32>,
    pub(crate) local_of_bin: Vec<Range<usize>>,
    /// The local factor multiplies every sample of its bin.
    pub(crate) covers_bin: Vec<bool>,
    /// For each block's members: the index in the block's front.
    pub(crate) member: Vec<u32>,
    /// The member that an entry belongs to, counted within its block.
    pub(crate) member_of_free: Vec<u32>,
    pub(crate) member_of_normsys: Vec<u32>,
    pub(crate) member_of_histosys: Vec<u32>,
}

/// A small dense matrix of the Hessian's factorisation: see `fronts.rs`.
#[derive(Debug, Default)]
pub(crate) struct Front {
    /// The number of parameters that are eliminated here, which come first.
    pub(crate) own: usize,
    /// Its parameters, and their places in the dense part in ascending order.
    pub(crate) parameters: Vec<u32>,
    pub(crate) places: Vec<u32>,
    pub(crate) parent: Option<usize>,
    /// The places in the parent of the parameters that are not eliminated here.
    pub(crate) in_parent: Vec<u32>,
    /// The bins of its channels.
    pub(crate) bins: Vec<u32>,
    pub(crate) blocks: Vec<u32>,
    /// The number of its bins if each channel begins with a whole vector.
    pub(crate) padded_bins: usize,
}

impl Front {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The index of a place in this front.
    #[expect(clippy::cast_possible_truncation, reason = "indices of parameters fit in 32 bits")]
    pub(crate) fn index_of(&self, place: u32) -> u32 {
        self.places.partition_point(|known| *known < place) as u32
    }

    /// The place of the first parameter that is eliminated here.
    pub(crate) fn first(&self) -> usize {
        self.places.first().map_or(0, |place| *place as usize)
    }
}

/// Adjacent parameters that are all in the dense part, where the first has its place, or all outside it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) parameters: Range<usize>,
    pub(crate) place: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Global(u32),
    Local(u32),
}
