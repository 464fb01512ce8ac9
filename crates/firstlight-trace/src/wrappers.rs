//! Wrappers around compiled functions, recognised by their Python frames: the share of each of their phases
//! in a step.

use firstlight_schema::trace::{Frame, FrameKind, Step, Wrapper, WrapperPhase};

use crate::rules::is_frame;

/// A Python function as named by frames: `$_jit.py:72 _preprocess`.
struct Function {
    file: &'static str,
    name: &'static str,
}

struct Phase {
    name: &'static str,
    within: Option<&'static str>,
    function: Function,
}

struct Known {
    name: &'static str,
    /// All of the wrapper's work is inside this one.
    whole: Function,
    phases: &'static [Phase],
}

/// Equinox's `_jit.py`: a call separates arrays from its other arguments, calls the function made by
/// `jax.jit`, waits for it, and combines arrays with its other results.
const KNOWN: [Known; 1] = [Known {
    name: "equinox.filter_jit",
    whole: Function { file: "_jit.py", name: "_call" },
    phases: &[
        Phase {
            name: "preprocess",
            within: None,
            function: Function { file: "_jit.py", name: "_preprocess" },
        },
        Phase {
            name: "partition",
            within: Some("preprocess"),
            function: Function { file: "_compile_utils.py", name: "hashable_partition" },
        },
        Phase {
            name: "postprocess",
            within: None,
            function: Function { file: "_jit.py", name: "_postprocess" },
        },
        Phase {
            name: "combine",
            within: Some("postprocess"),
            function: Function { file: "_filters.py", name: "combine" },
        },
    ],
}];

/// The wrappers whose frames are present.
pub(crate) fn wrappers(frames: &[Frame], steps: &[Step]) -> Vec<Wrapper> {
    let step = mean_step(steps);
    KNOWN.iter().filter_map(|known| wrapper(known, frames, step)).collect()
}

fn wrapper(known: &Known, frames: &[Frame], step: f64) -> Option<Wrapper> {
    let whole = find(frames, &known.whole)?.inclusive_ns;
    let phase = |phase: &Phase| {
        let frame = find(frames, &phase.function)?;
        Some(WrapperPhase {
            name: phase.name.to_owned(),
            within: phase.within.map(str::to_owned),
            frame: frame.name.clone(),
            host_ns: frame.inclusive_ns,
            share_of_wrapper: share(frame.inclusive_ns, whole),
            share_of_step: share(frame.inclusive_ns, step),
        })
    };
    let phases: Vec<WrapperPhase> = known.phases.iter().filter_map(phase).collect();
    // A function is not identified by its name alone.
    if phases.is_empty() {
        return None;
    }
    Some(Wrapper { name: known.name.to_owned(), host_ns: whole, share: share(whole, step), phases })
}

fn find<'a>(frames: &'a [Frame], function: &Function) -> Option<&'a Frame> {
    frames.iter().find(|frame| frame.kind == FrameKind::Python && is(&frame.name, function))
}

fn is(frame: &str, function: &Function) -> bool {
    is_frame(frame, function.file, function.name)
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "a count of steps")]
fn mean_step(steps: &[Step]) -> f64 {
    let steady: Vec<f64> = steps
        .iter()
        .filter(|step| step.is_steady())
        .map(|step| step.duration_ns.as_f64())
        .collect();
    steady.iter().sum::<f64>() / steady.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{Function, is};

    #[test]
    fn a_function_is_identified_by_its_file_and_name_on_any_line() {
        let function = Function { file: "_jit.py", name: "_call" };
        assert!(is("$_jit.py:212 _call", &function));
        assert!(is("$/env/equinox/_jit.py:9 _call", &function));
        for other in ["$_jit.py:212 _calls", "$jit.py:212 _call", "_call", "$_jit.py _call"] {
            assert!(!is(other, &function), "{other}");
        }
    }
}
