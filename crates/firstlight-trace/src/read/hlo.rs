//! The signature of a compiled program from its `HloProto`: the parameters' shapes and names, the operators
//! that call host code, a digest of the code, and its memory.

use std::hash::{BuildHasher, Hasher};

use firstlight_schema::trace::ProgramMemory;
use memchr::memmem;
use prost::Message;
use rustc_hash::FxBuildHasher;

use super::messages::{BufferAllocation, Instruction, ProgramShape, Shape};
use super::wire::{Field, Fields, signed};
use crate::error::Result;
use crate::model::Parameter;

/// The information about a module.
#[derive(Debug, Default)]
pub(crate) struct Signature {
    pub(crate) module: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) callbacks: Vec<String>,
    pub(crate) digest: u64,
    /// `None` if the recording does not contain it.
    pub(crate) memory: Option<ProgramMemory>,
}

/// A module's signature; `None` if the bytes contain no module.
pub(crate) fn signature(proto: &[u8], base: u64) -> Result<Option<Signature>> {
    let (mut found, mut assignment) = (None, None);
    let mut fields = Fields::new(proto, base);
    while let Some(field) = fields.next_field()? {
        match field {
            Field::Bytes(1, module) => found = Some(module_signature(module, base)?),
            Field::Bytes(3, bytes) => assignment = Some(bytes),
            Field::Varint(..) | Field::Bytes(..) | Field::Fixed => {}
        }
    }
    if let (Some(found), Some(bytes)) = (&mut found, assignment) {
        found.memory = memory(bytes, base)?;
    }
    Ok(found)
}

/// The buffers of a `BufferAssignmentProto` by content. Buffers of one thread are on its stack.
fn memory(assignment: &[u8], base: u64) -> Result<Option<ProgramMemory>> {
    let mut memory = None;
    let mut fields = Fields::new(assignment, base);
    while let Some(field) = fields.next_field()? {
        let Field::Bytes(3, bytes) = field else { continue };
        let Ok(buffer) = BufferAllocation::decode(bytes) else { continue };
        let sums: &mut ProgramMemory = memory.get_or_insert_default();
        let sum = if buffer.is_parameter {
            &mut sums.arguments_bytes
        } else if buffer.is_constant {
            &mut sums.constants_bytes
        } else if buffer.may_outlive {
            &mut sums.outputs_bytes
        } else if buffer.is_thread_local {
            continue;
        } else {
            &mut sums.temporaries_bytes
        };
        *sum = sum.saturating_add(u64::try_from(buffer.size).unwrap_or(0));
    }
    Ok(memory)
}

fn module_signature(module: &[u8], base: u64) -> Result<Signature> {
    let mut signature = Signature::default();
    let mut entry = None;
    let mut shape = ProgramShape::default();
    let mut computations = Vec::new();
    let mut fields = Fields::new(module, base);
    while let Some(field) = fields.next_field()? {
        match field {
            Field::Bytes(1, text) => signature.module = lossy(text),
            Field::Bytes(3, computation) => computations.push(computation),
            Field::Bytes(4, bytes) => shape = ProgramShape::decode(bytes).unwrap_or_default(),
            Field::Varint(6, id) => entry = Some(signed(id)),
            Field::Varint(..) | Field::Bytes(..) | Field::Fixed => {}
        }
    }
    signature.parameters = shape
        .parameters
        .iter()
        .map(|shape| Parameter { name: String::new(), shape: text(shape) })
        .collect();
    for (parameter, known) in signature.parameters.iter_mut().zip(&shape.parameter_names) {
        parameter.name = lossy(known);
    }
    let calls_back = memmem::find(module, CALLBACK.as_bytes()).is_some();
    let mut digest = FxBuildHasher.build_hasher();
    for computation in computations {
        if entry.is_some() && computation_id(computation, base)? == entry {
            name_arguments(computation, base, &mut signature.parameters)?;
        }
        if calls_back {
            signature.callbacks.extend(callbacks(computation, base)?);
        }
        digest_code(computation, base, &mut digest)?;
    }
    signature.digest = digest.finish();
    Ok(signature)
}

/// Targets by which XLA calls Python contain this, on every device.
const CALLBACK: &str = "_callback";

/// Names of the instructions that call host code.
fn callbacks(computation: &[u8], base: u64) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut fields = Fields::new(computation, base);
    while let Some(field) = fields.next_field()? {
        let Field::Bytes(2, bytes) = field else { continue };
        let Ok(instruction) = Instruction::decode(bytes) else { continue };
        if memmem::find(&instruction.custom_call_target, CALLBACK.as_bytes()).is_some() {
            names.push(lossy(&instruction.name));
        }
    }
    Ok(names)
}

/// Adds the operations of the instructions. Names, numbers and source locations differ between two tracings
/// of the same code.
fn digest_code(computation: &[u8], base: u64, digest: &mut impl Hasher) -> Result<()> {
    let mut fields = Fields::new(computation, base);
    while let Some(field) = fields.next_field()? {
        let Field::Bytes(2, instruction) = field else { continue };
        let mut fields = Fields::new(instruction, base);
        while let Some(field) = fields.next_field()? {
            match field {
                Field::Bytes(1 | 7 | 36..=38, _) | Field::Varint(35..=38, _) | Field::Fixed => {}
                Field::Bytes(number, bytes) => {
                    digest.write_u32(number);
                    digest.write(bytes);
                }
                Field::Varint(number, value) => {
                    digest.write_u32(number);
                    digest.write_u64(value);
                }
            }
        }
    }
    Ok(())
}

fn computation_id(computation: &[u8], base: u64) -> Result<Option<i64>> {
    let mut fields = Fields::new(computation, base);
    while let Some(field) = fields.next_field()? {
        if let Field::Varint(5, id) = field {
            return Ok(Some(signed(id)));
        }
    }
    Ok(None)
}

/// JAX writes an argument's path, `model.layers[0].weight`, into the metadata of its parameter.
fn name_arguments(computation: &[u8], base: u64, parameters: &mut [Parameter]) -> Result<()> {
    let mut fields = Fields::new(computation, base);
    while let Some(field) = fields.next_field()? {
        let Field::Bytes(2, bytes) = field else { continue };
        let Ok(instruction) = Instruction::decode(bytes) else { continue };
        let Some(metadata) = instruction.metadata else { continue };
        if instruction.opcode != b"parameter" || metadata.op_name.is_empty() {
            continue;
        }
        let index = usize::try_from(instruction.parameter_number).unwrap_or(usize::MAX);
        if let Some(parameter) = parameters.get_mut(index) {
            parameter.name = lossy(&metadata.op_name);
        }
    }
    Ok(())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `f32[64,128]`, in XLA's own format.
fn text(shape: &Shape) -> String {
    if !shape.tuple_shapes.is_empty() {
        let parts: Vec<String> = shape.tuple_shapes.iter().map(text).collect();
        return format!("({})", parts.join(", "));
    }
    let dimensions: Vec<String> = shape.dimensions.iter().map(i64::to_string).collect();
    format!("{}[{}]", element_type(shape.element_type), dimensions.join(","))
}

/// `PrimitiveType` of `xla_data.proto`.
fn element_type(number: i32) -> &'static str {
    match number {
        1 => "pred",
        2 => "s8",
        3 => "s16",
        4 => "s32",
        5 => "s64",
        6 => "u8",
        7 => "u16",
        8 => "u32",
        9 => "u64",
        10 => "f16",
        11 => "f32",
        12 => "f64",
        13 => "tuple",
        14 => "opaque",
        15 => "c64",
        16 => "bf16",
        17 => "token",
        18 => "c128",
        19 => "f8e5m2",
        20 => "f8e4m3fn",
        21 => "s4",
        22 => "u4",
        23 => "f8e4m3b11fnuz",
        24 => "f8e5m2fnuz",
        25 => "f8e4m3fnuz",
        26 => "s2",
        27 => "u2",
        28 => "f8e4m3",
        29 => "f8e3m4",
        _ => "?",
    }
}
