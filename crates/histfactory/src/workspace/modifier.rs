//! The seven modifiers. One pass reads them whatever the order of the keys, without an intermediate document.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// A change of a sample's yields, under the name of its parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Modifier {
    pub name: String,
    pub effect: Effect,
}

/// The effect of a modifier, with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Adds a shape interpolated between two templates.
    Histosys { lo: Vec<f64>, hi: Vec<f64> },
    /// Multiplies by the luminosity.
    Lumi,
    /// Multiplies by a free factor.
    Normfactor,
    /// Multiplies by a factor interpolated between two.
    Normsys { lo: f64, hi: f64 },
    /// Multiplies each bin by a free factor.
    Shapefactor,
    /// Multiplies each bin by a Poisson-constrained factor; absolute uncertainties.
    Shapesys(Vec<f64>),
    /// Multiplies each bin by a factor that all samples of the channel share; absolute
    /// uncertainties.
    Staterror(Vec<f64>),
}

/// The kind of a modifier, in the order of pyhf's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModifierType {
    Histosys,
    Lumi,
    Normfactor,
    Normsys,
    Shapefactor,
    Shapesys,
    Staterror,
}

impl ModifierType {
    pub const ALL: [Self; 7] = [
        Self::Histosys,
        Self::Lumi,
        Self::Normfactor,
        Self::Normsys,
        Self::Shapefactor,
        Self::Shapesys,
        Self::Staterror,
    ];

    /// The name in a workspace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Histosys => "histosys",
            Self::Lumi => "lumi",
            Self::Normfactor => "normfactor",
            Self::Normsys => "normsys",
            Self::Shapefactor => "shapefactor",
            Self::Shapesys => "shapesys",
            Self::Staterror => "staterror",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ModifierType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Modifier {
    pub const fn kind(&self) -> ModifierType {
        match self.effect {
            Effect::Histosys { .. } => ModifierType::Histosys,
            Effect::Lumi => ModifierType::Lumi,
            Effect::Normfactor => ModifierType::Normfactor,
            Effect::Normsys { .. } => ModifierType::Normsys,
            Effect::Shapefactor => ModifierType::Shapefactor,
            Effect::Shapesys(_) => ModifierType::Shapesys,
            Effect::Staterror(_) => ModifierType::Staterror,
        }
    }
}

impl Serialize for Modifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        match &self.effect {
            Effect::Histosys { lo, hi } => {
                map.serialize_entry("data", &Templates { hi_data: hi, lo_data: lo })?;
            }
            Effect::Normsys { lo, hi } => {
                map.serialize_entry("data", &Factors { hi: *hi, lo: *lo })?;
            }
            Effect::Shapesys(data) | Effect::Staterror(data) => {
                map.serialize_entry("data", data)?;
            }
            Effect::Lumi | Effect::Normfactor | Effect::Shapefactor => {
                map.serialize_entry("data", &())?;
            }
        }
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("type", self.kind().as_str())?;
        map.end()
    }
}

#[derive(Serialize)]
struct Templates<'a> {
    hi_data: &'a [f64],
    lo_data: &'a [f64],
}

#[derive(Serialize)]
struct Factors {
    hi: f64,
    lo: f64,
}

impl<'de> Deserialize<'de> for Modifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ModifierVisitor)
    }
}

struct ModifierVisitor;

impl<'de> Visitor<'de> for ModifierVisitor {
    type Value = Modifier;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a modifier with `name`, `type` and `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Modifier, A::Error> {
        let (mut name, mut kind, mut data) = (None, None, None);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Name => once(&mut name, "name", map.next_value::<String>()?)?,
                Key::Type => once(&mut kind, "type", map.next_value::<ModifierType>()?)?,
                Key::Data => once(&mut data, "data", map.next_value::<Data>()?)?,
            }
        }
        let name = name.ok_or_else(|| de::Error::missing_field("name"))?;
        let kind = kind.ok_or_else(|| de::Error::missing_field("type"))?;
        let data = data.ok_or_else(|| de::Error::missing_field("data"))?;
        Ok(Modifier { effect: effect(kind, data)?, name })
    }
}

fn once<T, E: de::Error>(slot: &mut Option<T>, key: &'static str, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(de::Error::duplicate_field(key)),
    }
}

fn effect<E: de::Error>(kind: ModifierType, data: Data) -> Result<Effect, E> {
    match (kind, data) {
        (ModifierType::Histosys, Data::Templates { lo, hi }) => Ok(Effect::Histosys { lo, hi }),
        (ModifierType::Normsys, Data::Factors { lo, hi }) => Ok(Effect::Normsys { lo, hi }),
        (ModifierType::Shapesys, Data::Bins(bins)) => Ok(Effect::Shapesys(bins)),
        (ModifierType::Staterror, Data::Bins(bins)) => Ok(Effect::Staterror(bins)),
        (ModifierType::Lumi, Data::Nothing) => Ok(Effect::Lumi),
        (ModifierType::Normfactor, Data::Nothing) => Ok(Effect::Normfactor),
        (ModifierType::Shapefactor, Data::Nothing) => Ok(Effect::Shapefactor),
        (kind, _) => Err(de::Error::custom(format_args!("`data` is not that of a {kind}"))),
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Name,
    Type,
    Data,
}

impl<'de> Deserialize<'de> for ModifierType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TypeVisitor;
        impl Visitor<'_> for TypeVisitor {
            type Value = ModifierType;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a modifier type")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ModifierType, E> {
                ModifierType::parse(text)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(TypeVisitor)
    }
}

impl Serialize for ModifierType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A modifier's `data` by its shape: it may come before the `type` that determines its meaning.
enum Data {
    Nothing,
    Bins(Vec<f64>),
    Factors { lo: f64, hi: f64 },
    Templates { lo: Vec<f64>, hi: Vec<f64> },
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DataKey {
    Lo,
    Hi,
    LoData,
    HiData,
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DataVisitor)
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Data;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("null, an array of numbers, or an object with a low and a high side")
    }

    fn visit_unit<E>(self) -> Result<Data, E> {
        Ok(Data::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Data, A::Error> {
        let mut bins = Vec::new();
        while let Some(value) = seq.next_element()? {
            bins.push(value);
        }
        Ok(Data::Bins(bins))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Data, A::Error> {
        let (mut lo, mut hi) = (None, None);
        let (mut lo_data, mut hi_data) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                DataKey::Lo => once(&mut lo, "lo", map.next_value()?)?,
                DataKey::Hi => once(&mut hi, "hi", map.next_value()?)?,
                DataKey::LoData => once(&mut lo_data, "lo_data", map.next_value()?)?,
                DataKey::HiData => once(&mut hi_data, "hi_data", map.next_value()?)?,
            }
        }
        match (lo, hi, lo_data, hi_data) {
            (Some(lo), Some(hi), None, None) => Ok(Data::Factors { lo, hi }),
            (None, None, Some(lo), Some(hi)) => Ok(Data::Templates { lo, hi }),
            _ => Err(de::Error::custom("neither `lo` and `hi` nor `lo_data` and `hi_data`")),
        }
    }
}
