//! Interned names. An event holds a number; all texts are in a single string.

use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroU32;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// The kind of event that a name stands for, if the format defines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Category {
    /// Not defined by the format.
    #[default]
    None,
    CpuOp,
    UserAnnotation,
    GpuUserAnnotation,
    PythonFunction,
    CudaRuntime,
    Kernel,
    Memcpy,
    Memset,
    /// A wait of a device, as recorded by the device.
    DeviceSync,
    Overhead,
    Other,
}

impl Category {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "" => Self::None,
            "cpu_op" => Self::CpuOp,
            "user_annotation" => Self::UserAnnotation,
            "gpu_user_annotation" => Self::GpuUserAnnotation,
            "python_function" => Self::PythonFunction,
            "cuda_runtime" | "cuda_driver" | "privateuse1_runtime" | "privateuse1_driver" => {
                Self::CudaRuntime
            }
            "kernel" => Self::Kernel,
            "gpu_memcpy" => Self::Memcpy,
            "gpu_memset" => Self::Memset,
            "cuda_sync" => Self::DeviceSync,
            "overhead" => Self::Overhead,
            _ => Self::older(text),
        }
    }

    /// Kineto's former names of these categories.
    fn older(text: &str) -> Self {
        const OLDER: [(&str, Category); 7] = [
            ("Operator", Category::CpuOp),
            ("Runtime", Category::CudaRuntime),
            ("Kernel", Category::Kernel),
            ("Memcpy", Category::Memcpy),
            ("Memset", Category::Memset),
            ("Python", Category::PythonFunction),
            ("Overhead", Category::Overhead),
        ];
        let known = OLDER.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map_or(Self::Other, |(_, category)| *category)
    }

    /// Whether events of this category are on a device.
    pub fn on_device(self) -> bool {
        match self {
            Self::Kernel
            | Self::Memcpy
            | Self::Memset
            | Self::GpuUserAnnotation
            | Self::DeviceSync => true,
            Self::None
            | Self::CpuOp
            | Self::UserAnnotation
            | Self::PythonFunction
            | Self::CudaRuntime
            | Self::Overhead
            | Self::Other => false,
        }
    }
}

/// A name with its category: its index among the names, counted from one so that an `Option` of it needs no
/// more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(NonZeroU32);

impl NameId {
    fn at(index: u32) -> Self {
        Self(NonZeroU32::MIN.checked_add(index).expect("fewer names than 2^32"))
    }

    pub(crate) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// All names of a trace.
#[derive(Debug, Default)]
pub struct Names {
    texts: String,
    ends: Vec<(usize, Category)>,
    table: HashTable<u32>,
}

impl Names {
    pub(crate) fn intern(&mut self, category: Category, text: &str) -> NameId {
        let hashed = hash(category, text);
        let same = |&id: &u32| {
            self.text(NameId::at(id)) == text && self.category(NameId::at(id)) == category
        };
        if let Some(&id) = self.table.find(hashed, same) {
            return NameId::at(id);
        }
        let id = u32::try_from(self.ends.len()).expect("fewer names than 2^32");
        self.texts.push_str(text);
        self.ends.push((self.texts.len(), category));
        let (texts, ends) = (&self.texts, &self.ends);
        self.table.insert_unique(hashed, id, |&id| {
            let index = id as usize;
            hash(ends[index].1, slice(texts, ends, index))
        });
        NameId::at(id)
    }

    pub fn text(&self, id: NameId) -> &str {
        slice(&self.texts, &self.ends, id.index())
    }

    pub fn category(&self, id: NameId) -> Category {
        self.ends[id.index()].1
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn ids(&self) -> impl Iterator<Item = NameId> + use<> {
        (0..u32::try_from(self.ends.len()).expect("fewer names than 2^32")).map(NameId::at)
    }

    /// Computes a value for every name, to be looked up by number.
    pub(crate) fn map<T>(&self, value: impl Fn(Category, &str) -> T) -> ByName<T> {
        ByName(self.ids().map(|id| value(self.category(id), self.text(id))).collect())
    }
}

fn hash(category: Category, text: &str) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    hasher.write_u8(category as u8);
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn slice<'a>(texts: &'a str, ends: &[(usize, Category)], index: usize) -> &'a str {
    let from = if index == 0 { 0 } else { ends[index - 1].0 };
    &texts[from..ends[index].0]
}

/// A value for every name.
#[derive(Debug)]
pub(crate) struct ByName<T>(Vec<T>);

impl<T> std::ops::Index<NameId> for ByName<T> {
    type Output = T;

    fn index(&self, id: NameId) -> &T {
        &self.0[id.index()]
    }
}

impl<T> std::ops::IndexMut<NameId> for ByName<T> {
    fn index_mut(&mut self, id: NameId) -> &mut T {
        &mut self.0[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::{Category, Names};

    #[test]
    fn a_name_is_kept_once_per_category() {
        let mut names = Names::default();
        let a = names.intern(Category::CpuOp, "add");
        let b = names.intern(Category::Kernel, "add");
        assert_ne!(a, b);
        for round in 0..1_000 {
            assert_eq!(names.intern(Category::CpuOp, "add"), a);
            names.intern(Category::None, &format!("name {}", round % 100));
        }
        assert_eq!((names.len(), names.text(b), names.category(b)), (102, "add", Category::Kernel));
    }
}
