//! JAX's own explanations of misses of its cache of traced functions (`jax_explain_cache_misses`), as
//! recorded by `firstlight trace --record`: one JSON object per line, with the time of the message.

use firstlight_schema::trace::{Cause, CauseKind, Change};
use serde::Deserialize;

use super::diff;

/// Messages sorted by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JaxLog(Vec<Message>);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Message {
    /// Nanoseconds since 1970.
    time_ns: i64,
    /// The explanation; `None` if the caches were cleared.
    text: Option<String>,
}

/// Messages may be this far outside the call that they describe, because they use another clock.
const SLACK: i64 = 2_000_000;

impl JaxLog {
    /// Other lines are skipped.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut messages: Vec<Message> = lines.collect();
        messages.sort_by_key(|message| message.time_ns);
        Self(messages)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages about a function between two times of the clock that began at `began`.
    pub(super) fn about(
        &self,
        function: &str,
        (from, to): (i64, i64),
        began: i64,
    ) -> Option<Explained> {
        let at = |message: &Message| message.time_ns.saturating_sub(began);
        let during = |message: &&Message| {
            (from.saturating_sub(SLACK)..=to.saturating_add(SLACK)).contains(&at(message))
        };
        let texts = self.0.iter().filter(during).filter_map(|message| message.text.as_deref());
        texts.map(Explained::parse).find(|explained| explained.function == function)
    }

    /// Whether the caches were cleared between two times.
    pub(super) fn cleared(&self, from: i64, to: i64, began: i64) -> bool {
        let inside =
            |message: &Message| (from..to).contains(&message.time_ns.saturating_sub(began));
        self.0.iter().any(|message| message.text.is_none() && inside(message))
    }
}

/// A parsed message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Explained {
    function: String,
    /// `train.py:12`
    defined: Option<String>,
    /// The function object is new to JAX.
    pub(super) new: bool,
    /// The differences from the closest earlier call, in JAX's words.
    differences: Vec<String>,
}

impl Explained {
    fn parse(text: &str) -> Self {
        let mut explained = Self::default();
        let mut lines = text.lines().map(str::trim).skip(1);
        while let Some(line) = lines.next() {
            if line.starts_with("never seen function") {
                explained.new = true;
                explained.name(lines.next().unwrap_or(""));
            } else if let Some(name) =
                line.strip_prefix("for ").filter(|_| explained.function.is_empty())
            {
                explained.name(name);
            } else if let Some(difference) = line.strip_prefix("* ") {
                explained.differences.push(difference.to_owned());
            } else if line.starts_with("now ") && line.contains(" and before ") {
                explained.differences.push(line.to_owned());
            }
        }
        explained
    }

    /// `f id=139632651134080 defined at train.py:6`
    fn name(&mut self, text: &str) {
        let (name, place) = text.split_once(" defined at ").unwrap_or((text, ""));
        let name = name.split(" id=").next().unwrap_or(name);
        name.trim().clone_into(&mut self.function);
        self.defined = (!place.is_empty()).then(|| place.trim().to_owned());
    }

    /// The cause, if the message names one. `unchanged`: the program's own arguments did not change.
    pub(super) fn cause(&self, unchanged: bool) -> Option<Cause> {
        let parsed: Vec<Difference> =
            self.differences.iter().map(|text| Difference::parse(text)).collect();
        let first = parsed.first()?;
        let mut text: Vec<String> = parsed.iter().map(Difference::describe).collect();
        if unchanged && matches!(first.kind, CauseKind::Shape | CauseKind::Type | CauseKind::Rank) {
            text.push("the program does not use this argument".to_owned());
        }
        let changes = parsed.iter().zip(0..).filter_map(|(one, index)| one.change(index)).collect();
        Some(Cause { kind: first.kind, text: text.join("; "), changes })
    }

    pub(super) fn new_function(&self) -> Cause {
        let place = self
            .defined
            .as_ref()
            .map_or_else(String::new, |place| format!(", defined at {place},"));
        let text = format!(
            "a new function object: `{}`{place} was created again (a closure, partial or lambda inside a loop)",
            self.function
        );
        Cause { kind: CauseKind::NewFunction, text, changes: Vec::new() }
    }
}

/// One difference.
struct Difference {
    kind: CauseKind,
    what: String,
    before: String,
    after: String,
    /// JAX's own words, if nothing else matches.
    words: String,
}

impl Difference {
    fn parse(text: &str) -> Self {
        let differs = |kind, what: &str, before: &str, after: &str| Self {
            kind,
            what: what.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
            words: text.to_owned(),
        };
        if let Some((setting, rest)) = text.split_once(" differs: now ") {
            let (after, before) = rest.split_once(" and before ").unwrap_or((rest, "?"));
            return differs(CauseKind::Setting, setting, before, after);
        }
        let Some((place, rest)) = text.split_once(", now ") else {
            return differs(CauseKind::StaticArgument, "", "", "");
        };
        let place = place.strip_prefix("at ").unwrap_or(place);
        let (after, before) = rest.split_once(" and before ").unwrap_or((rest, ""));
        if let (Some(after), Some(before)) = (static_value(after), static_value(before)) {
            let path = place.strip_prefix("input path ").unwrap_or(place);
            return differs(CauseKind::StaticArgument, &last_key(path), before, after);
        }
        if place.starts_with("input path") {
            return differs(CauseKind::ArgumentCount, "", "", "");
        }
        // Links to the documentation follow without a space.
        let before = before.split("http").next().unwrap_or(before);
        let (old, was_weak) = weak(before);
        let (new, is_weak) = weak(after);
        if was_weak != is_weak && old == new {
            return differs(CauseKind::WeakType, place, before, after);
        }
        differs(diff::kind(old, new), place, old, new)
    }

    fn describe(&self) -> String {
        let Self { what, before, after, .. } = self;
        match self.kind {
            _ if what.is_empty() => self.words.clone(),
            CauseKind::Setting => format!("the setting `{what}`: {before} → {after}"),
            CauseKind::StaticArgument => format!("static argument `{what}`: {before} → {after}"),
            CauseKind::WeakType => {
                let (shape, weak) = weak(after);
                let (now, then) = if weak { ("weak", "strong") } else { ("strong", "weak") };
                format!(
                    "argument `{what}`: {shape} of {then} type → {now} type (a Python number is weak)"
                )
            }
            _ => format!("argument `{what}`: {before} → {after}"),
        }
    }

    fn change(&self, parameter: u32) -> Option<Change> {
        let named = !self.what.is_empty();
        named.then(|| Change {
            parameter,
            name: Some(self.what.clone()),
            before: self.before.clone(),
            after: self.after.clone(),
        })
    }
}

/// A type without its mark for weak types, and whether it is weak.
fn weak(text: &str) -> (&str, bool) {
    let bare = text.split("{weak_type").next().unwrap_or(text).trim();
    (bare, text.contains("weak_type=True"))
}

/// `3` of `… with pytree metadata Static(val=3)`.
fn static_value(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("Static(val=")?;
    let end = rest.rfind(')')?;
    Some(&rest[..end])
}

/// `n` of `[1]['n']`, `argument 2` of `[0][2]`.
fn last_key(path: &str) -> String {
    let key = path.rsplit('[').next().unwrap_or(path).trim_end_matches(']');
    let name = key.trim_matches('\'');
    if name == key { format!("argument {name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::trace::CauseKind;
    use proptest::prelude::*;

    use super::{Explained, JaxLog};

    proptest! {
        #[test]
        fn every_log_has_a_cause_or_none(
            body in "(never seen function:\n|for |\\* at |, now | and before |Static\\(val=|\\)|\\[|\\]|'|[a-zé ]|\n){0,40}"
        ) {
            let explained = explained(&body);
            let _ = (explained.cause(true), explained.new_function());
        }
    }

    const HEAD: &str = "TRACING CACHE MISS at train.py:8:14 (<module>):\n";

    fn explained(body: &str) -> Explained {
        Explained::parse(&format!("{HEAD}{body}"))
    }

    #[test]
    fn each_difference_has_its_kind_and_name() {
        let known = "  for g defined at train.py:6\n  all previously seen cache keys differ. For the \
                     closest previous key:\n";
        let cases = [
            (
                "  different input types:\n  * at x, now f32[5,5] and before f32[4,4]",
                CauseKind::Shape,
                "argument `x`: f32[4,4] → f32[5,5]",
            ),
            (
                "  * at x, now bf16[4] and before f32[4]",
                CauseKind::Type,
                "argument `x`: f32[4] → bf16[4]",
            ),
            (
                "  * at s, now f32[]{weak_type=True} and before f32[]{weak_type=False}https://docs.jax.dev/x",
                CauseKind::WeakType,
                "argument `s`: f32[] of strong type → weak type (a Python number is weak)",
            ),
            (
                "  * at input path [1]['n'], now <class 'jax._src.tree_util.Static'> with pytree metadata \
                 Static(val=3) and before <class 'jax._src.tree_util.Static'> with pytree metadata \
                 Static(val=2), so the pytree node metadata does not match",
                CauseKind::StaticArgument,
                "static argument `n`: 2 → 3",
            ),
            (
                "  Tracing context doesn't match, e.g. due to config or context manager.\n  * \
                 jax_default_matmul_precision differs: now float32 and before None",
                CauseKind::Setting,
                "the setting `jax_default_matmul_precision`: None → float32",
            ),
        ];
        for (body, kind, text) in cases {
            let explained = explained(&format!("{known}{body}"));
            assert_eq!((explained.function.as_str(), explained.new), ("g", false));
            let cause = explained.cause(false).unwrap();
            assert_eq!((cause.kind, cause.text.as_str()), (kind, text));
        }
        let unused =
            explained(&format!("{known}  * at e, now f32[5] and before f32[4]")).cause(true);
        assert!(unused.unwrap().text.ends_with("the program does not use this argument"));
    }

    #[test]
    fn a_new_function_is_found_by_its_name_and_time() {
        let message =
            format!("{HEAD}  never seen function:\n    inner id=13 defined at train.py:19");
        let line = serde_json::json!({ "time-ns": 1_000_000_500_i64, "text": message });
        let cleared = serde_json::json!({ "time-ns": 1_000_000_100_i64, "text": null });
        let log = JaxLog::parse(&format!("{line}\nnonsense\n{cleared}\n"));
        let began = 1_000_000_000;
        let found = log.about("inner", (400, 600), began).unwrap();
        assert!(found.new && found.cause(false).is_none());
        assert!(
            found
                .new_function()
                .text
                .contains("`inner`, defined at train.py:19, was created again")
        );
        assert_eq!(log.about("other", (400, 600), began), None);
        assert_eq!(log.about("inner", (400 + 10_000_000, 600 + 10_000_000), began), None);
        assert!(log.cleared(0, 400, began) && !log.cleared(200, 400, began));
    }
}
