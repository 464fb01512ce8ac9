//! A call from XLA; everything is checked before it is used.

#![expect(unsafe_code, reason = "XLA hands over pointers")]

use std::ffi::{CString, c_int, c_void};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr;
use std::sync::Arc;

use super::abi::{self, CallFrame};
use super::registry::Function;

/// The operations of a handler on a call.
pub(super) struct Frame<'a> {
    raw: *mut CallFrame,
    call: PhantomData<&'a CallFrame>,
}

/// An argument or a result: an array of any rank, its last axis innermost.
pub(super) struct Shape<'a>(pub(super) &'a [i64]);

impl Shape<'_> {
    /// The number of elements, if it is valid.
    fn count(&self) -> Option<usize> {
        self.0.iter().try_fold(1_usize, |all, axis| all.checked_mul(usize::try_from(*axis).ok()?))
    }
}

impl<'a> Frame<'a> {
    /// # Safety
    ///
    /// `raw` is a call frame as XLA passes it to a handler, and lives as long as `'a`. Until `check_size` has
    /// succeeded, only `error` may be called.
    pub(super) unsafe fn new(raw: *mut CallFrame) -> Self {
        Self { raw, call: PhantomData }
    }

    /// Checks that the frame has all fields that are used here.
    pub(super) fn check_size(&self) -> Result<(), String> {
        // SAFETY: the size is the first field of every version of the frame.
        let size = unsafe { (*self.raw).struct_size };
        if size >= size_of::<CallFrame>() {
            return Ok(());
        }
        let needed = size_of::<CallFrame>();
        Err(format!("XLA's call frame has {size} bytes, {needed} are needed: jaxlib is too old"))
    }

    fn call(&self) -> &'a CallFrame {
        // SAFETY: `new` was promised a frame that lives as long as `'a`; its size was checked.
        unsafe { &*self.raw }
    }

    /// Answers the query for the version and the type of the state, if this call is that query.
    pub(super) fn answer_metadata(&self, state_type: i64) -> Result<bool, String> {
        let extension = self.call().extension;
        // SAFETY: an extension is null or begins with its size and kind.
        if extension.is_null() || unsafe { (*extension).kind } != abi::METADATA {
            return Ok(false);
        }
        // SAFETY: the kind determines what follows the base, and the size covers all of it.
        let metadata = unsafe {
            if (*extension).struct_size < size_of::<abi::MetadataExtension>() {
                return Err("XLA's question for metadata is too short".to_owned());
            }
            &mut *(*extension.cast::<abi::MetadataExtension>()).metadata
        };
        // XLA counts up to the traits; since 0.3 the type of the state follows them.
        if metadata.struct_size < abi::METADATA_SIZE {
            return Err("XLA's metadata are too short".to_owned());
        }
        self.api()?;
        metadata.version = abi::ApiVersion {
            struct_size: size_of::<abi::ApiVersion>(),
            extension: ptr::null_mut(),
            major: abi::VERSION[0],
            minor: abi::VERSION[1],
        };
        metadata.traits = 0;
        metadata.state_type = abi::TypeId(state_type);
        Ok(true)
    }

    pub(super) fn require_stage(&self, stage: c_int) -> Result<(), String> {
        match self.call().stage {
            found if found == stage => Ok(()),
            found => Err(format!("called in stage {found}, meant for stage {stage}")),
        }
    }

    fn api(&self) -> Result<&'a abi::Api, String> {
        // SAFETY: XLA passes its own table, which lives as long as the process.
        let api = unsafe { &*self.call().api };
        let abi::ApiVersion { major, minor, .. } = api.version;
        let [ours, least] = abi::VERSION;
        let needed = offset_of!(abi::Api, memory_allocate);
        if major == ours && minor >= least && api.struct_size >= needed {
            return Ok(api);
        }
        Err(format!("XLA's foreign function interface is {major}.{minor}, not {ours}.{least}"))
    }

    /// An error for XLA, which becomes its owner.
    pub(super) fn error(&self, code: c_int, message: &str) -> *mut abi::Error {
        let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
        let mut arguments = abi::ErrorCreate {
            struct_size: size_of::<abi::ErrorCreate>(),
            extension: ptr::null_mut(),
            message: text.as_ptr(),
            code,
        };
        // SAFETY: both fields have had their places since the first version; the message is copied.
        unsafe { ((*(*self.raw).api).error_create)(&raw mut arguments) }
    }

    /// An integer attribute of the call.
    pub(super) fn integer(&self, name: &str) -> Result<i64, String> {
        let attributes = &self.call().attributes;
        let missing = || format!("there is no attribute `{name}`");
        for index in 0..usize::try_from(attributes.size).map_err(|_| missing())? {
            // SAFETY: the three arrays have `size` entries, each name is `len` bytes, and the type
            // determines what an entry points to.
            unsafe {
                let span = &**attributes.names.add(index);
                if std::slice::from_raw_parts(span.data, span.len) != name.as_bytes() {
                    continue;
                }
                if *attributes.types.add(index) != abi::SCALAR {
                    return Err(format!("attribute `{name}` is not a scalar"));
                }
                let scalar = &**attributes.items.add(index).cast::<*const abi::Scalar>();
                return match scalar.dtype {
                    abi::S64 => Ok(scalar.value.cast::<i64>().read_unaligned()),
                    abi::S32 => Ok(scalar.value.cast::<i32>().read_unaligned().into()),
                    other => Err(format!("attribute `{name}` has the data type {other}")),
                };
            }
        }
        Err(missing())
    }

    /// The address of an argument on the device and its shape.
    pub(super) fn argument_on_device(&self, index: usize) -> Result<(Shape<'a>, u64), String> {
        let found = buffer(&self.call().arguments, index, "argument", abi::F64)?;
        Ok((found.shape, found.data as u64))
    }

    /// The address of a result on the device, and its number of elements.
    pub(super) fn result_on_device(
        &self,
        index: usize,
        dtype: c_int,
    ) -> Result<(u64, usize), String> {
        let found = buffer(&self.call().results, index, "result", dtype)?;
        Ok((found.data as u64, found.count))
    }

    /// The stream of the call and the number of its device.
    pub(super) fn stream(&self) -> Result<Result<(u64, i32), *mut abi::Error>, String> {
        let api = self.api()?;
        if api.struct_size < size_of::<abi::Api>() {
            return Err("XLA does not name the device of a call: jaxlib is too old".to_owned());
        }
        let (extension, context) = (ptr::null_mut(), self.call().context);
        let mut stream = abi::StreamGet {
            struct_size: size_of::<abi::StreamGet>(),
            extension,
            context,
            stream: ptr::null_mut(),
        };
        let mut device = abi::DeviceOrdinalGet {
            // Without the padding at its end, as XLA counts it.
            struct_size: offset_of!(abi::DeviceOrdinalGet, ordinal) + size_of::<i32>(),
            extension,
            context,
            ordinal: 0,
        };
        // SAFETY: the arguments are complete.
        let problems = unsafe {
            [(api.stream_get)(&raw mut stream), (api.device_ordinal_get)(&raw mut device)]
        };
        match problems.into_iter().find(|problem| !problem.is_null()) {
            Some(problem) => Ok(Err(problem)),
            None => Ok(Ok((stream.stream as u64, device.ordinal))),
        }
    }

    pub(super) fn argument(&self, index: usize) -> Result<(Shape<'a>, &'a [f64]), String> {
        let found = buffer(&self.call().arguments, index, "argument", abi::F64)?;
        let (shape, data, count) = (found.shape, found.data.cast::<f64>(), found.count);
        if count == 0 {
            return Ok((shape, &[]));
        }
        // SAFETY: XLA keeps arguments alive and unchanged during the call; type, alignment and
        // number of elements were checked.
        Ok((shape, unsafe { std::slice::from_raw_parts(data, count) }))
    }

    /// All results. XLA gives each separate memory, distinct from the arguments: results are only aliased if
    /// the call requests it, which ours never does.
    pub(super) fn results(&mut self) -> Result<Vec<&'a mut [f64]>, String> {
        let count = usize::try_from(self.call().results.size).unwrap_or(0);
        (0..count)
            .map(|index| {
                let found = buffer(&self.call().results, index, "result", abi::F64)?;
                let (data, count) = (found.data.cast::<f64>(), found.count);
                if count == 0 {
                    return Ok(<&mut [f64]>::default());
                }
                // SAFETY: as for arguments; this call alone writes to its results, and each index
                // is taken once.
                Ok(unsafe { std::slice::from_raw_parts_mut(data, count) })
            })
            .collect()
    }

    /// Passes ownership of a function to the compiled program.
    pub(super) fn keep(&self, type_id: *const abi::TypeId, kept: Arc<Function>) -> KeepResult {
        let api = self.api()?;
        let kept = Arc::into_raw(kept).cast_mut().cast::<c_void>();
        let mut arguments = self.state(type_id, kept);
        // SAFETY: the arguments are complete; the state is freed by `drop_function`, which was
        // registered with its type.
        let problem = unsafe { (api.state_set)(&raw mut arguments) };
        if problem.is_null() {
            return Ok(ptr::null_mut());
        }
        // SAFETY: XLA refused it, so that it is still ours.
        drop(unsafe { Arc::from_raw(kept.cast_const().cast::<Function>()) });
        Ok(problem)
    }

    /// The function that the compiled program owns.
    pub(super) fn kept(
        &self,
        type_id: *const abi::TypeId,
    ) -> Result<Result<&'a Function, *mut abi::Error>, String> {
        let mut arguments = self.state(type_id, ptr::null_mut());
        // SAFETY: the arguments are complete.
        let problem = unsafe { (self.api()?.state_get)(&raw mut arguments) };
        if !problem.is_null() {
            return Ok(Err(problem));
        }
        // SAFETY: XLA compares the type, and only `keep` makes states of ours; the program that owns
        // it lives longer than its call.
        Ok(Ok(unsafe { &*arguments.object.cast_const().cast::<Function>() }))
    }

    fn state(&self, type_id: *const abi::TypeId, object: *mut c_void) -> abi::State {
        abi::State {
            struct_size: size_of::<abi::State>(),
            extension: ptr::null_mut(),
            context: self.call().context,
            stage: abi::INSTANTIATE,
            type_id,
            object,
        }
    }
}

type KeepResult = Result<*mut abi::Error, String>;

/// Frees a function that a compiled program owned.
///
/// # Safety
///
/// `state` came from `Frame::keep` and is not used again.
pub(super) unsafe extern "C" fn drop_function(state: *mut c_void) {
    // SAFETY: as above. Nothing in a function panics when it is dropped.
    drop(unsafe { Arc::from_raw(state.cast_const().cast::<Function>()) });
}

/// An argument or a result: its shape, its address, and the number of its elements.
struct Found<'a> {
    shape: Shape<'a>,
    data: *mut c_void,
    count: usize,
}

fn buffer<'a>(
    buffers: &'a abi::Buffers,
    index: usize,
    what: &str,
    dtype: c_int,
) -> Result<Found<'a>, String> {
    if i64::try_from(index).is_ok_and(|index| index >= buffers.size) {
        return Err(format!("there is no {what} {index}"));
    }
    // SAFETY: both arrays have `size` entries; the type determines what an entry points to.
    let buffer = unsafe {
        if *buffers.types.add(index) != abi::BUFFER {
            return Err(format!("{what} {index} is not an array"));
        }
        &*(*buffers.items.add(index)).cast::<abi::Buffer>()
    };
    if buffer.struct_size < size_of::<abi::Buffer>() {
        return Err(format!("{what} {index} has {} bytes", buffer.struct_size));
    }
    let (name, bytes) = match dtype {
        abi::F64 => ("float64", 8),
        abi::S32 => ("int32", 4),
        _ => ("uint8", 1),
    };
    if buffer.dtype != dtype {
        let found = buffer.dtype;
        return Err(format!("{what} {index} is not an array of {name} (data type {found})"));
    }
    let rank = usize::try_from(buffer.rank).map_err(|_| format!("{what} {index} has no rank"))?;
    // SAFETY: `dims` has `rank` entries; a scalar's may be null.
    let dims = match rank {
        0 => &[],
        rank => unsafe { std::slice::from_raw_parts(buffer.dims, rank) },
    };
    let shape = Shape(dims);
    let count = shape.count().ok_or_else(|| format!("{what} {index} has the shape {dims:?}"))?;
    let data = buffer.data;
    if count > 0 && (data.is_null() || !(data as usize).is_multiple_of(bytes)) {
        return Err(format!("{what} {index} lies at {data:?}"));
    }
    Ok(Found { shape, data, count })
}
