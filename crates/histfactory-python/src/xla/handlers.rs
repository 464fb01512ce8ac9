//! The functions that XLA calls: once for each compiled program, and once for each of its runs.

#![expect(unsafe_code, reason = "XLA calls C functions")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use rayon::prelude::*;

use histfactory::objective::Objective;
use histfactory_cuda::{LossRows, Scratch, Stream};

use super::abi::{self, CallFrame, TypeId, TypeInfo};
use super::frame::{Frame, drop_function};
use super::registry::{self, Function};

/// The numbers of our state's type on the CPU and on GPUs, which XLA writes on registration.
static STATE_TYPES: [AtomicI64; 2] = [AtomicI64::new(0), AtomicI64::new(0)];

/// The function with which XLA frees a state.
pub(super) static STATE_INFO: StateInfo = StateInfo(TypeInfo {
    struct_size: size_of::<TypeInfo>(),
    extension: ptr::null_mut(),
    deleter: drop_function,
});

/// A constant that XLA reads.
#[repr(transparent)]
pub(super) struct StateInfo(TypeInfo);

// SAFETY: nobody writes to it, and its pointer is null.
unsafe impl Sync for StateInfo {}

pub(super) fn state_type(on_gpu: bool) -> *mut TypeId {
    STATE_TYPES[usize::from(on_gpu)].as_ptr().cast()
}

/// Looks up the function of a newly compiled program and passes its ownership to the program.
///
/// # Safety
///
/// To be called by XLA, with a call frame.
pub(super) unsafe extern "C" fn instantiate<const ON_GPU: bool>(
    frame: *mut CallFrame,
) -> *mut abi::Error {
    // SAFETY: XLA's frame lives as long as its call.
    unsafe {
        answer(frame, STATE_TYPES[usize::from(ON_GPU)].load(Ordering::Relaxed), |frame| {
            frame.require_stage(abi::INSTANTIATE)?;
            let number = frame.integer("function")?;
            let function = registry::function(number)
                .ok_or_else(|| format!("function {number} is not known in this process"))?;
            frame.keep(state_type(ON_GPU), function)
        })
    }
}

/// Computes a value, or a value and its gradient, or those and the Hessian, for each row of the
/// argument.
///
/// # Safety
///
/// To be called by XLA, with a call frame.
pub(super) unsafe extern "C" fn execute(frame: *mut CallFrame) -> *mut abi::Error {
    // SAFETY: XLA's frame lives as long as its call.
    unsafe {
        answer(frame, 0, |frame| {
            frame.require_stage(abi::EXECUTE)?;
            match frame.kept(state_type(false))? {
                Ok(function) => evaluate(&function.objective, frame).map(|()| ptr::null_mut()),
                Err(problem) => Ok(problem),
            }
        })
    }
}

/// Computes values and gradients of rows on a GPU. Nothing waits for it: the results are a value, a gradient and a
/// status for each row, and scratch memory.
///
/// # Safety
///
/// To be called by XLA, with a call frame whose arrays lie on the GPU of its stream.
pub(super) unsafe extern "C" fn execute_on_gpu(frame: *mut CallFrame) -> *mut abi::Error {
    // SAFETY: XLA's frame lives as long as its call.
    unsafe {
        answer(frame, 0, |frame| {
            frame.require_stage(abi::EXECUTE)?;
            let function = match frame.kept(state_type(true))? {
                Ok(function) => function,
                Err(problem) => return Ok(problem),
            };
            // Only the tests' platform has no streams.
            let (stream, ordinal) = match frame.integer("default_stream")? {
                0 => match frame.stream()? {
                    Ok(found) => found,
                    Err(problem) => return Ok(problem),
                },
                _ => (0, 0),
            };
            start(function, frame, stream, ordinal).map(|()| ptr::null_mut())
        })
    }
}

/// # Safety
///
/// The arrays of the frame lie on that GPU, and XLA keeps them until the stream has come to its end.
unsafe fn start(
    function: &Function,
    frame: &Frame<'_>,
    stream: u64,
    ordinal: i32,
) -> Result<(), String> {
    let ordinal = usize::try_from(ordinal).map_err(|_| format!("device {ordinal}"))?;
    let loss = function.on_gpu(ordinal).map_err(|error| error.to_string())?;
    let (shape, inputs) = frame.argument_on_device(0)?;
    let given = shape.0.last().copied().unwrap_or(0);
    if usize::try_from(given) != Ok(loss.count()) {
        return Err(format!("{given} numbers given, the function has {}", loss.count()));
    }
    let (value, rows) = frame.result_on_device(0, abi::F64)?;
    let (slopes, count) = frame.result_on_device(1, abi::F64)?;
    let (status, codes) = frame.result_on_device(2, abi::S32)?;
    let (address, bytes) = frame.result_on_device(3, abi::U8)?;
    let blocks = loss.model().blocks(rows);
    if count != rows * loss.count() || codes != rows || bytes < loss.model().scratch_bytes(blocks) {
        return Err("the results do not have the shapes that the argument asks for".to_owned());
    }
    let scratch = Scratch { address, blocks };
    let rows = LossRows { inputs, value, slopes, status, rows, scratch };
    // SAFETY: see above; sizes and types were checked.
    unsafe { loss.start(rows, Stream::at(stream)) }.map_err(|error| error.to_string())
}

fn evaluate(function: &Objective, frame: &mut Frame<'_>) -> Result<(), String> {
    let (shape, points) = frame.argument(0)?;
    let inputs = function.len();
    let given = shape.0.last().copied().unwrap_or(0);
    if usize::try_from(given) != Ok(inputs) {
        return Err(format!("{given} numbers given, the function has {inputs}"));
    }
    let mut results = frame.results()?.into_iter();
    let values = results.next().ok_or("there is no result")?;
    let (gradients, hessians) = (results.next(), results.next());
    let rows = values.len();
    let fits =
        |found: Option<&[f64]>, each: usize| found.is_none_or(|found| found.len() == rows * each);
    let fitting = fits(Some(points), inputs)
        && fits(gradients.as_deref(), inputs)
        && fits(hessians.as_deref(), inputs * inputs)
        && results.next().is_none();
    if !fitting {
        return Err("the results do not have the shapes that the argument asks for".to_owned());
    }
    let points = (0..rows).map(|index| &points[index * inputs..(index + 1) * inputs]);
    let gradients = rows_of(gradients, rows, inputs);
    let hessians = rows_of(hessians, rows, inputs * inputs);
    let mut work =
        values.iter_mut().zip(points).zip(gradients.into_iter().zip(hessians)).enumerate();
    let compute = |(index, ((value, point), (gradient, hessian))): (usize, Row<'_>)| {
        let (mut gradient, mut hessian) = (gradient, hessian);
        let found = match (gradient.as_deref_mut(), hessian.as_deref_mut()) {
            (Some(gradient), Some(hessian)) => {
                function.evaluate_curvature(point, gradient, hessian)
            }
            (gradient, _) => function.evaluate(point, gradient),
        };
        if found.is_err() {
            for part in [gradient, hessian].into_iter().flatten() {
                part.fill(f64::NAN);
            }
        }
        *value = *found.as_ref().unwrap_or(&f64::NAN);
        found.map(|_| ()).map_err(|problem| match rows {
            1 => problem.to_string(),
            _ => format!("row {index}: {problem}"),
        })
    };
    if rows == 1 {
        return work.try_for_each(compute);
    }
    // Each row is computed independently, so the number of threads does not change any bit. Rows without a
    // value are NaN; if no row has a value, the first row's error is returned.
    let work: Vec<_> = work.collect();
    let outcomes: Vec<Result<(), String>> = work.into_par_iter().map(compute).collect();
    let none = outcomes.iter().all(Result::is_err);
    outcomes.into_iter().find(|_| none).unwrap_or(Ok(()))
}

type Parts<'a> = (Option<&'a mut [f64]>, Option<&'a mut [f64]>);
type Row<'a> = ((&'a mut f64, &'a [f64]), Parts<'a>);

/// An array split into its rows, or as many times `None`.
fn rows_of(array: Option<&mut [f64]>, rows: usize, each: usize) -> Vec<Option<&mut [f64]>> {
    match array {
        Some(array) if each > 0 => array.chunks_exact_mut(each).map(Some).collect(),
        Some(_) | None => (0..rows).map(|_| None).collect(),
    }
}

/// Calls a handler: catches panics, and converts errors to XLA's.
///
/// # Safety
///
/// `raw` is the call frame of the running call.
unsafe fn answer(
    raw: *mut CallFrame,
    state_type: i64,
    handler: impl FnOnce(&mut Frame<'_>) -> Result<*mut abi::Error, String>,
) -> *mut abi::Error {
    // SAFETY: promised by the caller.
    let mut frame = unsafe { Frame::new(raw) };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        frame.check_size()?;
        if frame.answer_metadata(state_type)? { Ok(ptr::null_mut()) } else { handler(&mut frame) }
    }));
    match outcome {
        Ok(Ok(problem)) => problem,
        Ok(Err(message)) => frame.error(abi::INVALID_ARGUMENT, &message),
        Err(panic) => frame.error(abi::INTERNAL, &said(panic.as_ref())),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("histfactory panicked: {}", text.unwrap_or("for an unknown reason"))
}
