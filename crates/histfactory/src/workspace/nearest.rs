//! Suggests the intended name for an unknown one.

/// The known name nearest to the given one, if it is similar enough.
pub(crate) fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let near = |name: &str| strsim::normalized_damerau_levenshtein(written, name);
    let best = known.into_iter().map(|name| (near(name), name));
    best.filter(|(score, _)| *score >= 0.5).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}
