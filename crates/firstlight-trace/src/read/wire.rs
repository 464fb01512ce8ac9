//! Decodes protocol buffers: keys, varints and lengths from a slice, with the offset of an error.

use crate::error::{Problem, Result};

/// A field's number and value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'a> {
    Varint(u32, u64),
    Bytes(u32, &'a [u8]),
    /// Four or eight bytes, which are not used.
    Fixed,
}

/// Iterates over the fields of one message; `base` is the offset of the slice in the file.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, at: 0, base }
    }

    /// The offset of the next field in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[expect(
        clippy::inline_always,
        reason = "a call returns through memory, which is most of its time"
    )]
    #[inline(always)]
    pub(crate) fn next_field(&mut self) -> Result<Option<Field<'a>>> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).unwrap_or(0);
        if number == 0 {
            return Err(self.corrupt(start, format!("no field has the key {key}")));
        }
        Ok(Some(match key & 7 {
            0 => Field::Varint(number, self.varint()?),
            1 => self.fixed::<8>(start)?,
            2 => {
                let length = self.varint()?;
                let left = self.bytes.len() - self.at;
                let Some(length) = usize::try_from(length).ok().filter(|&length| length <= left)
                else {
                    let what = format!("a field of {length} bytes where {left} are left");
                    return Err(self.corrupt(start, what));
                };
                let bytes = &self.bytes[self.at..self.at + length];
                self.at += length;
                Field::Bytes(number, bytes)
            }
            5 => self.fixed::<4>(start)?,
            other => return Err(self.corrupt(start, format!("wire type {other}"))),
        }))
    }

    fn fixed<const N: usize>(&mut self, start: usize) -> Result<Field<'a>> {
        if self.bytes.len() - self.at < N {
            return Err(self.corrupt(start, "a number is cut off".to_owned()));
        }
        self.at += N;
        Ok(Field::Fixed)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64> {
        // Most varints are a single byte.
        if let Some(&byte) = self.bytes.get(self.at)
            && byte < 0x80
        {
            self.at += 1;
            return Ok(byte.into());
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64> {
        let rest = &self.bytes[self.at..];
        if let Some((value, used)) = varint(rest) {
            self.at += used;
            return Ok(value);
        }
        let what = if rest.len() < LONGEST_VARINT { "cut off" } else { "longer than 64 bits" };
        Err(self.corrupt(self.at, format!("a varint is {what}")))
    }

    #[cold]
    fn corrupt(&self, at: usize, what: String) -> Problem {
        Problem::Corrupt { at: self.base + at as u64, what }
    }
}

const LONGEST_VARINT: usize = 10;

/// The varint at the beginning, and its length; `None` if it does not end or has more than 64 bits.
#[inline]
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(LONGEST_VARINT).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == LONGEST_VARINT - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// A number that was encoded as signed.
#[expect(clippy::cast_possible_wrap, reason = "int64 travels as its two's complement")]
pub(crate) fn signed(value: u64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use super::{Field, Fields};

    fn all(bytes: &[u8]) -> Result<usize, String> {
        let mut fields = Fields::new(bytes, 100);
        let mut count = 0;
        while fields.next_field().map_err(|error| error.to_string())?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn fields_are_read_and_errors_have_their_offset() {
        assert_eq!(all(&[]), Ok(0));
        assert_eq!(all(&[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i']), Ok(2));
        assert_eq!(all(&[0x08, 0xff]).unwrap_err(), "is corrupt at byte 101: a varint is cut off");
        let endless = [&[0x08][..], &[0xff; 11]].concat();
        assert!(all(&endless).unwrap_err().contains("longer than 64 bits"));
        assert!(all(&[0x12, 0x05, 1]).unwrap_err().contains("5 bytes where 1 are left"));
        assert!(all(&[0x0b]).unwrap_err().contains("wire type 3"));
        assert!(all(&[0x00]).unwrap_err().contains("no field"));
        let mut fields = Fields::new(&[0x09, 1, 0, 0, 0, 0, 0, 0, 0], 0);
        assert!(matches!(fields.next_field(), Ok(Some(Field::Fixed))));
    }
}
