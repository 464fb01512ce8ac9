//! The messages of `xplane.proto` and `hlo.proto` that are decoded as a whole, with the used fields. Lines
//! and events are not among them: they are read field by field (`xplane.rs`).

use prost::Message;

/// `XStat`: one of the values is present.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct XStat {
    #[prost(int64, tag = "1")]
    pub(crate) metadata_id: i64,
    #[prost(oneof = "StatValue", tags = "2, 3, 4, 5, 6, 7")]
    pub(crate) value: Option<StatValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum StatValue {
    #[prost(double, tag = "2")]
    Double(f64),
    #[prost(uint64, tag = "3")]
    Unsigned(u64),
    #[prost(int64, tag = "4")]
    Signed(i64),
    #[prost(bytes, tag = "5")]
    Text(Vec<u8>),
    #[prost(bytes, tag = "6")]
    Bytes(Vec<u8>),
    /// The id of a stat's metadata, whose name is the text.
    #[prost(uint64, tag = "7")]
    Reference(u64),
}

/// `XStatMetadata`; names are bytes, because profilers write invalid UTF-8.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct XStatMetadata {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) name: Vec<u8>,
}

/// `ProfileOptions` of tsl: the levels of its tracers.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProfileOptions {
    #[prost(uint32, tag = "2")]
    pub(crate) host: u32,
    #[prost(uint32, tag = "3")]
    pub(crate) device: u32,
    #[prost(uint32, tag = "4")]
    pub(crate) python: u32,
}

/// `ShapeProto`; tuples hold further shapes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Shape {
    #[prost(int32, tag = "2")]
    pub(crate) element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) dimensions: Vec<i64>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) tuple_shapes: Vec<Shape>,
}

/// `ProgramShapeProto`
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProgramShape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) parameters: Vec<Shape>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub(crate) parameter_names: Vec<Vec<u8>>,
}

/// `HloInstructionProto`, limited to parameters and calls of host code.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Instruction {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) name: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) opcode: Vec<u8>,
    #[prost(message, optional, tag = "7")]
    pub(crate) metadata: Option<OpMetadata>,
    #[prost(int64, tag = "9")]
    pub(crate) parameter_number: i64,
    #[prost(bytes = "vec", tag = "28")]
    pub(crate) custom_call_target: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OpMetadata {
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) op_name: Vec<u8>,
}

/// `BufferAllocationProto`: a range of the device's memory, and its content.
#[expect(clippy::struct_excessive_bools, reason = "the message has these fields")]
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct BufferAllocation {
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
    #[prost(bool, tag = "3")]
    pub(crate) is_thread_local: bool,
    #[prost(bool, tag = "5")]
    pub(crate) is_parameter: bool,
    /// It may contain a result of the program.
    #[prost(bool, tag = "7")]
    pub(crate) may_outlive: bool,
    #[prost(bool, tag = "12")]
    pub(crate) is_constant: bool,
}
