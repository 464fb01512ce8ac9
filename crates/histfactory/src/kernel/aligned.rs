//! Numbers aligned to cache lines, so that no vector lies on two lines.
//!
//! Alignment only affects speed: after a clone or a reallocation, the next [`Aligned::clear`] aligns the
//! numbers again.

use std::ops::{Deref, DerefMut};

const LINE: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Aligned {
    values: Vec<f64>,
    /// Unused numbers before the first one.
    skipped: usize,
}

impl Aligned {
    pub(crate) fn zeros(length: usize) -> Self {
        let mut zeros = Self::default();
        zeros.clear();
        zeros.reset(length);
        zeros
    }

    /// Sets the length and fills with zeros.
    pub(crate) fn reset(&mut self, length: usize) {
        // Allocates more than needed, so that the first place is known before the memory moves.
        self.values.reserve((length + LINE).saturating_sub(self.values.len()));
        self.clear();
        self.values.resize(self.skipped + length, 0.0);
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.values.reserve(LINE);
        self.skipped = self.values.as_ptr().align_offset(LINE).min(LINE / size_of::<f64>());
        self.values.resize(self.skipped, 0.0);
    }

    pub(crate) fn extend(&mut self, values: impl Iterator<Item = f64>) {
        self.values.extend(values);
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        &self.values[self.skipped..]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.values[self.skipped..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_cache_lines() {
        for length in [0, 1, 7, 8, 1000] {
            let mut numbers = Aligned::zeros(length);
            assert_eq!(numbers.len(), length);
            assert_eq!(numbers.as_ptr().align_offset(LINE), 0);
            assert_eq!(numbers.clone().as_ptr().align_offset(LINE), 0);
            numbers.clear();
            numbers.extend((0..length).map(|_| 2.0));
            assert_eq!(*numbers, *vec![2.0; length]);
        }
    }
}
