//! Values by the ids of metadata, which are usually small and consecutive.

use rustc_hash::FxHashMap;

/// Ids below this, or below twice the number of insertions, need no hashing. An id in a file may be wrong, so
/// a single one must not need much memory.
const SMALL: usize = 1 << 10;

#[derive(Debug)]
pub(super) struct ById<T> {
    small: Vec<Option<T>>,
    large: FxHashMap<i64, T>,
    insertions: usize,
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { small: Vec::new(), large: FxHashMap::default(), insertions: 0 }
    }
}

impl<T> ById<T> {
    #[inline]
    pub(super) fn get(&self, id: i64) -> Option<&T> {
        match usize::try_from(id).ok().and_then(|index| self.small.get(index)) {
            Some(Some(value)) => Some(value),
            _ if self.large.is_empty() => None,
            _ => self.large.get(&id),
        }
    }

    /// Replaces an earlier value.
    pub(super) fn insert(&mut self, id: i64, value: T) {
        self.insertions += 1;
        match usize::try_from(id) {
            Ok(index) if index < SMALL.max(2 * self.insertions) => {
                if index >= self.small.len() {
                    self.small.resize_with(index + 1, || None);
                }
                self.small[index] = Some(value);
            }
            _ => {
                self.large.insert(id, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::ById;

    proptest! {
        #[test]
        fn it_equals_a_map(
            ids in prop::collection::vec(prop_oneof![0..9_000_i64, -5..5_i64, any::<i64>()], 0..200),
        ) {
            let (mut by_id, mut map) = (ById::default(), HashMap::new());
            for (value, &id) in ids.iter().enumerate() {
                by_id.insert(id, value);
                map.insert(id, value);
            }
            for id in (-10..10_000).chain(ids) {
                prop_assert_eq!(by_id.get(id), map.get(&id));
            }
        }
    }
}
