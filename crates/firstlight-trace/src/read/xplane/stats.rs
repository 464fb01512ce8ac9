//! The used stats of an event, among the many it has.

use prost::Message;

use super::Plane;
use crate::error::Result;
use crate::names::{Category, NameId, Names};
use crate::read::messages::{StatValue, XStat};
use crate::read::wire::{Field, Fields, signed};

/// The stats that are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    StepNum,
    ProgramId,
    HloModule,
    RunId,
    Device,
    BytesInUse,
    Allocator,
    Produces,
    Consumes,
}

impl Wanted {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "step_num" => Self::StepNum,
            "program_id" => Self::ProgramId,
            "hlo_module" => Self::HloModule,
            "run_id" => Self::RunId,
            "device_ordinal" => Self::Device,
            "bytes_allocated" => Self::BytesInUse,
            "allocator_name" => Self::Allocator,
            "_p" => Self::Produces,
            "_c" => Self::Consumes,
            _ => return None,
        })
    }
}

/// The stats of an event that the reader uses.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) step: Option<i64>,
    pub(super) program: Option<i64>,
    pub(super) module: Option<NameId>,
    pub(super) run: Option<i64>,
    pub(super) device: Option<i64>,
    /// The memory handed out by an allocator, and its name.
    pub(super) bytes: Option<u64>,
    pub(super) allocator: Option<NameId>,
    pub(super) produces: Option<u64>,
    pub(super) consumes: Option<u64>,
}

pub(super) fn hlo_proto(plane: &Plane, stat: &[u8]) -> Option<Vec<u8>> {
    let stat = XStat::decode(stat).ok()?;
    let name = plane.texts.get(&stat.metadata_id)?;
    match stat.value {
        Some(StatValue::Bytes(bytes)) if name == "Hlo Proto" || name == "hlo_proto" => Some(bytes),
        _ => None,
    }
}

/// The used stats of an event, before names are looked up.
#[derive(Default)]
pub(super) struct Stats<'a> {
    pub(super) any: bool,
    found: Found,
    module: Option<&'a [u8]>,
    module_reference: Option<i64>,
    allocator: Option<&'a [u8]>,
    allocator_reference: Option<i64>,
}

impl<'a> Stats<'a> {
    #[inline]
    pub(super) fn look(&mut self, plane: &Plane, stat: &'a [u8], base: u64) -> Result<()> {
        let mut fields = Fields::new(stat, base);
        let mut wanted = None;
        while let Some(field) = fields.next_field()? {
            match field {
                Field::Varint(1, id) => {
                    wanted = plane.stats.get(signed(id)).copied();
                    if wanted.is_none() {
                        return Ok(());
                    }
                }
                Field::Varint(7, id) if wanted == Some(Wanted::HloModule) => {
                    self.module_reference = Some(signed(id));
                    self.any = true;
                }
                Field::Varint(7, id) if wanted == Some(Wanted::Allocator) => {
                    self.allocator_reference = Some(signed(id));
                    self.any = true;
                }
                Field::Varint(3 | 4, value) => self.number(wanted, value),
                Field::Bytes(5, text) => self.text(wanted, text),
                Field::Varint(..) | Field::Bytes(..) | Field::Fixed => {}
            }
        }
        Ok(())
    }

    fn number(&mut self, wanted: Option<Wanted>, value: u64) {
        match wanted {
            Some(Wanted::StepNum) => self.found.step = Some(signed(value)),
            Some(Wanted::ProgramId) => self.found.program = Some(signed(value)),
            Some(Wanted::RunId) => self.found.run = Some(signed(value)),
            Some(Wanted::Device) => self.found.device = Some(signed(value)),
            Some(Wanted::Produces) => self.found.produces = Some(value),
            Some(Wanted::Consumes) => self.found.consumes = Some(value),
            Some(Wanted::BytesInUse) => self.found.bytes = Some(value),
            Some(Wanted::HloModule | Wanted::Allocator) | None => return,
        }
        self.any = true;
    }

    fn text(&mut self, wanted: Option<Wanted>, text: &'a [u8]) {
        let number = || std::str::from_utf8(text).ok()?.parse().ok();
        match wanted {
            Some(Wanted::HloModule) => self.module = Some(text),
            Some(Wanted::StepNum) => self.found.step = number(),
            Some(Wanted::ProgramId) => self.found.program = number(),
            Some(Wanted::RunId) => self.found.run = number(),
            Some(Wanted::Device) => self.found.device = number(),
            Some(Wanted::Allocator) => self.allocator = Some(text),
            Some(Wanted::Produces | Wanted::Consumes | Wanted::BytesInUse) | None => return,
        }
        self.any = true;
    }

    /// These, completed by the common properties of the event's kind.
    pub(super) fn over(&self, below: Found, names: &mut Names, plane: &mut Plane) -> Found {
        let mut name = |text: Option<&[u8]>, reference: Option<i64>| match (text, reference) {
            (Some(text), _) => Some(names.intern(Category::None, &String::from_utf8_lossy(text))),
            (None, Some(id)) => plane.reference(id, names),
            (None, None) => None,
        };
        Found {
            step: self.found.step.or(below.step),
            program: self.found.program.or(below.program),
            module: name(self.module, self.module_reference).or(below.module),
            run: self.found.run.or(below.run),
            device: self.found.device.or(below.device),
            bytes: self.found.bytes.or(below.bytes),
            allocator: name(self.allocator, self.allocator_reference).or(below.allocator),
            produces: self.found.produces.or(below.produces),
            consumes: self.found.consumes.or(below.consumes),
        }
    }
}
