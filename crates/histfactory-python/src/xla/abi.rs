//! The used part of XLA's foreign function interface, as declared by `xla/ffi/api/c_api.h` of jaxlib: version
//! 0.3, whose layout 0.4 keeps.
//!
//! Structs begin with the size known to the side that created them, so that either side may know more fields
//! than the other. Within a major version, fields are only added at the end.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// The version of this layout; XLA rejects a handler that is newer than itself.
pub(super) const VERSION: [c_int; 2] = [0, 3];

pub(super) const METADATA: c_int = 1;
pub(super) const BUFFER: c_int = 1;
pub(super) const SCALAR: c_int = 3;
pub(super) const S32: c_int = 4;
pub(super) const S64: c_int = 5;
pub(super) const U8: c_int = 6;
pub(super) const F64: c_int = 12;
pub(super) const INSTANTIATE: c_int = 0;
pub(super) const EXECUTE: c_int = 3;
pub(super) const INVALID_ARGUMENT: c_int = 3;
pub(super) const INTERNAL: c_int = 13;

/// An error object of XLA.
#[repr(C)]
pub(crate) struct Error {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(super) struct Context {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(super) struct Extension {
    pub(super) struct_size: usize,
    pub(super) kind: c_int,
    pub(super) next: *mut Self,
}

#[repr(C)]
pub(super) struct ApiVersion {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

#[repr(C)]
pub(super) struct TypeId(pub(super) i64);

#[repr(C)]
pub(super) struct TypeInfo {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) deleter: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
pub(super) struct Metadata {
    pub(super) struct_size: usize,
    pub(super) version: ApiVersion,
    pub(super) traits: u32,
    pub(super) state_type: TypeId,
}

/// The size of its metadata that XLA reports.
pub(super) const METADATA_SIZE: usize = offset_of!(Metadata, traits) + size_of::<u32>();

#[repr(C)]
pub(super) struct MetadataExtension {
    pub(super) base: Extension,
    pub(super) metadata: *mut Metadata,
}

#[repr(C)]
pub(super) struct ErrorCreate {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) message: *const c_char,
    pub(super) code: c_int,
}

#[repr(C)]
pub(super) struct State {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) context: *mut Context,
    pub(super) stage: c_int,
    pub(super) type_id: *const TypeId,
    pub(super) object: *mut c_void,
}

#[repr(C)]
pub(super) struct StreamGet {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) context: *mut Context,
    pub(super) stream: *mut c_void,
}

#[repr(C)]
pub(super) struct DeviceOrdinalGet {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) context: *mut Context,
    pub(super) ordinal: i32,
}

/// The functions that XLA offers. Unused ones are kept as placeholders.
#[repr(C)]
pub(super) struct Api {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) version: ApiVersion,
    pub(super) internal: *const c_void,
    pub(super) error_create: unsafe extern "C" fn(*mut ErrorCreate) -> *mut Error,
    pub(super) error_message: *const c_void,
    pub(super) error_destroy: *const c_void,
    pub(super) handler_register: *const c_void,
    pub(super) stream_get: unsafe extern "C" fn(*mut StreamGet) -> *mut Error,
    pub(super) type_register: *const c_void,
    pub(super) execution_context: *const c_void,
    pub(super) state_set: unsafe extern "C" fn(*mut State) -> *mut Error,
    pub(super) state_get: unsafe extern "C" fn(*mut State) -> *mut Error,
    pub(super) memory_allocate: *const c_void,
    pub(super) memory_free: *const c_void,
    pub(super) pool_schedule: *const c_void,
    pub(super) pool_threads: *const c_void,
    pub(super) future_create: *const c_void,
    pub(super) future_available: *const c_void,
    pub(super) future_error: *const c_void,
    pub(super) run_id_get: *const c_void,
    pub(super) device_ordinal_get: unsafe extern "C" fn(*mut DeviceOrdinalGet) -> *mut Error,
}

#[repr(C)]
pub(super) struct Buffer {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) dtype: c_int,
    pub(super) data: *mut c_void,
    pub(super) rank: i64,
    pub(super) dims: *const i64,
}

/// Arguments; results have the same layout.
#[repr(C)]
pub(super) struct Buffers {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) size: i64,
    pub(super) types: *const c_int,
    pub(super) items: *const *mut c_void,
}

#[repr(C)]
pub(super) struct ByteSpan {
    pub(super) data: *const u8,
    pub(super) len: usize,
}

#[repr(C)]
pub(super) struct Scalar {
    pub(super) dtype: c_int,
    pub(super) value: *const c_void,
}

#[repr(C)]
pub(super) struct Attributes {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) size: i64,
    pub(super) types: *const c_int,
    pub(super) names: *const *const ByteSpan,
    pub(super) items: *const *const c_void,
}

#[repr(C)]
pub(crate) struct CallFrame {
    pub(super) struct_size: usize,
    pub(super) extension: *mut Extension,
    pub(super) api: *const Api,
    pub(super) context: *mut Context,
    pub(super) stage: c_int,
    pub(super) arguments: Buffers,
    pub(super) results: Buffers,
    pub(super) attributes: Attributes,
}

// The sizes from c_api.h on a 64-bit machine: a wrong declaration above fails here.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<CallFrame>() == 168 && offset_of!(CallFrame, arguments) == 40);
    assert!(size_of::<Buffer>() == 48 && size_of::<Buffers>() == 40);
    assert!(size_of::<Attributes>() == 48 && size_of::<MetadataExtension>() == 32);
    assert!(offset_of!(Metadata, state_type) == 40 && offset_of!(State, object) == 40);
    assert!(offset_of!(Api, error_create) == 48 && offset_of!(Api, state_get) == 112);
    assert!(offset_of!(Api, stream_get) == 80 && offset_of!(Api, device_ordinal_get) == 184);
};
