//! Formats numbers: three digits and a unit.

use firstlight_plot::scale::grouped;
use firstlight_schema::cache::Policy;
use firstlight_schema::estimate::Estimate;

/// A duration given in nanoseconds.
pub fn duration(ns: f64) -> String {
    let size = ns.abs();
    match size {
        _ if size < 0.5 => "0".to_owned(),
        _ if size < 999.5 => format!("{ns:.0} ns"),
        _ if size < 999.5e3 => format!("{} µs", three_digits(ns / 1e3)),
        _ if size < 999.5e6 => format!("{} ms", three_digits(ns / 1e6)),
        _ if size < 99.95e9 => format!("{} s", three_digits(ns / 1e9)),
        // One unit on every axis and in every column: minutes would hide the ratio to the others.
        _ => format!("{:.0} s", ns / 1e9),
    }
}

/// A duration with its sign, for differences.
pub fn difference(ns: f64) -> String {
    let text = duration(ns.abs());
    match ns {
        _ if text == "0" => text,
        _ if ns < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The ends of an interval of durations: `1.36–2.01 ms`, `966 ms–1.17 s`, `−185 µs to 188 µs`.
pub fn interval(low: f64, high: f64) -> String {
    if low < 0.0 {
        let signed =
            |ns: f64| if ns < 0.0 { format!("−{}", duration(-ns)) } else { duration(ns) };
        return format!("{} to {}", signed(low), signed(high));
    }
    let (low, high) = (duration(low), duration(high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// Bytes, in powers of ten.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn bytes(count: u64) -> String {
    let value = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", three_digits(value / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", three_digits(value / 1e6)),
        _ => format!("{} GB", three_digits(value / 1e9)),
    }
}

/// A fraction in per cent, with no more digits than it has.
pub fn percent(fraction: f64) -> String {
    format!("{} %", (fraction * 1e6).round() / 1e4)
}

/// Things per second, or any count with three digits.
pub fn rate(value: f64) -> String {
    match value {
        v if v >= 999.5e6 => format!("{}G", three_digits(v / 1e9)),
        v if v >= 999.5e3 => format!("{}M", three_digits(v / 1e6)),
        v if v >= 9_999.5 => format!("{}k", three_digits(v / 1e3)),
        v => three_digits(v),
    }
}

/// A number of calls.
pub fn calls(n: f64) -> String {
    match n {
        n if n >= 1e12 => "more than 10¹² calls".to_owned(),
        n if n >= 1e6 => format!("{} million calls", three_digits(n / 1e6)),
        1.0 => "1 call".to_owned(),
        n => format!("{} calls", grouped(&format!("{n:.0}"))),
    }
}

/// A share, in per cent.
pub fn share(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "" };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}

/// `1 thing`, `2 things`.
pub fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// An estimate of a duration: the point and its interval.
pub fn estimate(estimate: &Estimate) -> String {
    let point = duration(estimate.point);
    match &estimate.interval {
        Some(interval) => format!(
            "{point}, median of {}; {} with {} confidence",
            estimate.n,
            self::interval(interval.low, interval.high),
            share(interval.confidence),
        ),
        None => format!("{point}, median of {}; too few for an interval", estimate.n),
    }
}

/// A policy as a word in a sentence.
pub fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Clean => "clean",
        Policy::Primed => "primed",
        Policy::Disabled => "disabled",
        Policy::AsFound => "as found",
        Policy::AsConfigured => "as configured",
    }
}

/// Truncates a text to a width, with an ellipsis.
pub fn fit(text: &str, width: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let kept: String = text
        .chars()
        .take_while(|c| {
            let wide = c.width().unwrap_or(0);
            let fits = wide <= room;
            room = room.saturating_sub(wide);
            fits
        })
        .collect();
    format!("{kept}…")
}

/// Shortens a list to a width: whole items, then an ellipsis.
pub fn fit_list(text: &str, width: usize) -> String {
    use unicode_width::UnicodeWidthStr;
    if text.width() <= width {
        return text.to_owned();
    }
    let ends = text.match_indices(", ").map(|(end, _)| &text[..end]);
    let fitting = ends.filter(|items| items.width() + ", …".width() <= width).last();
    fitting.map_or_else(|| fit(text, width), |items| format!("{items}, …"))
}

/// Whether a character controls the display instead of being shown: control characters, and those that
/// reverse the direction of the text.
pub(crate) fn is_invisible(c: char) -> bool {
    let turns = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, difference, duration, fit, fit_list, interval};

    #[test]
    fn durations_have_three_digits_and_a_unit() {
        let shown =
            [0.0, 7.0, 999.4, 999.6, 12_345.0, 4_560_000.0, 999.6e6, 1.234e9, 99.96e9, 123e9]
                .map(duration);
        assert_eq!(
            shown,
            [
                "0", "7 ns", "999 ns", "1.00 µs", "12.3 µs", "4.56 ms", "1.00 s", "1.23 s",
                "100 s", "123 s"
            ]
        );
    }

    #[test]
    fn an_interval_names_a_common_unit_once() {
        assert_eq!(interval(1.36e6, 2.01e6), "1.36–2.01 ms");
        assert_eq!(interval(966e6, 1.17e9), "966 ms–1.17 s");
        assert_eq!(interval(0.0, 533.0), "0–533 ns");
        assert_eq!(interval(-185e3, 188e3), "−185 µs to 188 µs");
        assert_eq!(interval(-20.0, -10.0), "−20 ns to −10 ns");
    }

    #[test]
    fn differences_carry_their_sign() {
        assert_eq!(difference(-2_100_000.0), "−2.10 ms");
        assert_eq!(difference(2_100_000.0), "+2.10 ms");
        assert_eq!(difference(0.1), "0");
    }

    #[test]
    fn bytes_are_decimal() {
        assert_eq!(
            [12, 4_096, 427_000_000, 1_500_000_000].map(bytes),
            ["12 B", "4.10 kB", "427 MB", "1.50 GB"]
        );
    }

    #[test]
    fn a_long_text_ends_in_an_ellipsis() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
        assert_eq!(fit("ab", 0), "…");
        assert_eq!(count(1, "run"), "1 run");
    }

    #[test]
    fn a_long_list_keeps_whole_items() {
        assert_eq!(fit_list("2 cores, 25 GB", 14), "2 cores, 25 GB");
        assert_eq!(fit_list("2 cores, 25 GB, GPU", 18), "2 cores, 25 GB, …");
        assert_eq!(fit_list("two cores, 25 GB", 5), "two …");
    }
}
