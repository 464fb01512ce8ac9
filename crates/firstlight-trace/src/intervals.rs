//! Sets of instants as sorted, disjoint intervals; none is empty and no two touch.

/// From the start up to, but not including, the end.
pub(crate) type Span = (i64, i64);

/// A set of instants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(Vec<Span>);

impl Set {
    /// The union of intervals in any order. GPU streams overlap, so intervals are not nested.
    pub(crate) fn union(mut spans: Vec<Span>) -> Self {
        spans.retain(|span| span.0 < span.1);
        if !spans.is_sorted() {
            #[expect(clippy::stable_sort_primitive, reason = "it merges lines that are in order")]
            spans.sort();
        }
        // In place: a second list would be as long as the first.
        let mut kept = 0;
        for index in 0..spans.len() {
            let span = spans[index];
            match spans[..kept].last_mut() {
                Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
                _ => {
                    spans[kept] = span;
                    kept += 1;
                }
            }
        }
        spans.truncate(kept);
        if kept < spans.capacity() / 2 {
            spans.shrink_to_fit();
        }
        Self(spans)
    }

    pub(crate) fn one(span: Span) -> Self {
        Self::union(vec![span])
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn total(&self) -> i64 {
        self.0.iter().map(|span| span.1 - span.0).sum()
    }

    pub(crate) fn contains(&self, at: i64) -> bool {
        self.0[self.first_after(at)..].first().is_some_and(|span| span.0 <= at)
    }

    /// The index of the first interval that ends after this instant.
    fn first_after(&self, at: i64) -> usize {
        self.0.partition_point(|span| span.1 <= at)
    }

    /// The part of the set within an interval.
    pub(crate) fn within(&self, span: Span) -> Self {
        let inside = self.0[self.first_after(span.0)..].iter().take_while(|own| own.0 < span.1);
        let inside = inside.filter(|_| span.0 < span.1);
        Self(inside.map(|own| (own.0.max(span.0), own.1.min(span.1))).collect())
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        let (mut a, mut b) = (0, 0);
        let mut both = Vec::with_capacity(self.0.len().min(other.0.len()));
        while let (Some(one), Some(two)) = (self.0.get(a), other.0.get(b)) {
            let (from, to) = (one.0.max(two.0), one.1.min(two.1));
            if from < to {
                both.push((from, to));
            }
            if one.1 <= two.1 { a += 1 } else { b += 1 }
        }
        Self(both)
    }

    pub(crate) fn without(self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        let mut left = Vec::with_capacity(self.0.len());
        let mut b = 0;
        for &(mut from, to) in &self.0 {
            while other.0.get(b).is_some_and(|span| span.1 <= from) {
                b += 1;
            }
            let mut next = b;
            while let Some(&span) = other.0.get(next).filter(|span| span.0 < to) {
                if from < span.0 {
                    left.push((from, span.0));
                }
                from = from.max(span.1);
                next += 1;
            }
            if from < to {
                left.push((from, to));
            }
        }
        Self(left)
    }

    pub(crate) fn or(self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut merged: Vec<Span> = Vec::with_capacity(self.0.len().max(other.0.len()));
        while let Some(&span) = match (own.peek(), others.peek()) {
            (Some(one), Some(two)) if one <= two => own.next(),
            (Some(_), None) => own.next(),
            (_, _) => others.next(),
        } {
            match merged.last_mut() {
                Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
                _ => merged.push(span),
            }
        }
        Self(merged)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Set;

    fn sets() -> impl Strategy<Value = Set> {
        prop::collection::vec((0..60_i64, 0..20_i64), 0..12).prop_map(|all| {
            Set::union(all.into_iter().map(|(from, long)| (from, from + long)).collect())
        })
    }

    fn instants(set: &Set) -> Vec<bool> {
        (0..90).map(|at| set.spans().iter().any(|span| span.0 <= at && at < span.1)).collect()
    }

    proptest! {
        #[test]
        fn operations_match_those_on_sets_of_instants(a in sets(), b in sets(), from in 0..80_i64, long in 0..40_i64) {
            let (x, y) = (instants(&a), instants(&b));
            let each = |rule: &dyn Fn(bool, bool) -> bool| -> Vec<bool> {
                x.iter().zip(&y).map(|(x, y)| rule(*x, *y)).collect()
            };
            prop_assert_eq!(instants(&a.and(&b)), each(&|x, y| x && y));
            prop_assert_eq!(instants(&a.clone().without(&b)), each(&|x, y| x && !y));
            prop_assert_eq!(instants(&a.clone().or(&b)), each(&|x, y| x || y));
            let within = a.within((from, from + long));
            prop_assert_eq!(&within, &a.and(&Set::one((from, from + long))));
            prop_assert_eq!(a.total(), x.iter().map(|in_it| i64::from(*in_it)).sum::<i64>());
            for at in 0..90_i64 {
                prop_assert_eq!(a.contains(at), x[usize::try_from(at).unwrap()]);
            }
        }
    }
}
