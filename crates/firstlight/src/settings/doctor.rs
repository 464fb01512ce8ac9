//! Settings of `firstlight doctor`.

use crate::args::Format;

#[derive(Debug)]
pub(crate) struct DoctorSettings {
    pub(crate) format: Format,
}

impl DoctorSettings {
    pub(crate) fn resolve(format: Format) -> Self {
        Self { format }
    }
}
