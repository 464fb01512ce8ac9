//! What a report shows, made once from a document: values and words, no markup and no pixels.

mod calls;
mod case;
mod events;
mod manifest;
mod memory;
mod points;
mod rerun;
mod series;

use firstlight_schema::run::RunDocument;

use crate::findings::{Told, of_the_machine};

pub use crate::row::Row;
pub use calls::{BINS, Distribution};
pub use case::{Case, Ledger};
pub use events::Mark;
pub use manifest::{Fact, Group};
pub use memory::{MemoryOf, PhaseRow};
pub use points::{Point, Points};
pub use series::{COLUMNS, Column, Drawn, Series, WarmArm};

/// A run as a reader wants to see it.
#[derive(Debug)]
pub struct Model<'a> {
    pub document: &'a RunDocument,
    pub cases: Vec<Case<'a>>,
    /// Findings about the machine as a whole.
    pub machine: Vec<Told>,
    pub manifest: Vec<Group>,
}

impl<'a> Model<'a> {
    pub fn new(document: &'a RunDocument) -> Self {
        Self {
            document,
            cases: document.cases.iter().map(|case| Case::new(document, case)).collect(),
            machine: of_the_machine(document),
            manifest: manifest::manifest(document),
        }
    }

    /// What may be said in the page's title.
    pub fn title(&self) -> String {
        format!("{}, {}", self.document.suite, self.document.created)
    }
}
