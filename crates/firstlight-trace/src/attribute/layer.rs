//! A set of intervals that grows piece by piece: an interval that reaches into the next piece is carried
//! over.

use crate::intervals::{Set, Span};

/// The open interval of a layer at the end of a piece; several that overlap are one.
#[derive(Debug, Default)]
pub(super) struct Layer(Option<Span>);

impl Layer {
    /// The layer in a piece that ends at `until`, from the intervals that start in it.
    pub(super) fn advance(&mut self, mut spans: Vec<Span>, until: i64) -> Set {
        spans.extend(self.0.take());
        let set = Set::union(spans);
        self.0 = set.within((until, i64::MAX)).spans().first().copied();
        set
    }
}

#[cfg(test)]
mod tests {
    use super::Layer;
    use crate::intervals::Set;

    #[test]
    fn an_interval_that_began_before_a_piece_is_in_it() {
        let mut layer = Layer::default();
        let first = layer.advance(vec![(0, 30), (5, 12), (2, 4)], 10);
        assert_eq!(first, Set::union(vec![(0, 30)]));
        assert_eq!(layer.advance(vec![(12, 14)], 20), Set::union(vec![(10, 30)]));
        assert_eq!(layer.advance(vec![(40, 41)], i64::MAX), Set::union(vec![(20, 30), (40, 41)]));
        assert_eq!(layer.advance(Vec::new(), i64::MAX), Set::default());
    }
}
