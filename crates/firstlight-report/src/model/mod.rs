//! The content of a report, computed once from a document: values and words, without markup and pixels.

mod calls;
mod case;
mod events;
mod manifest;
mod memory;
mod points;
mod rerun;
mod series;
mod shown;
mod typical;

use std::rc::Rc;

use firstlight_plot::palette::Cast;
use firstlight_schema::run::RunDocument;

use crate::words::findings::{FindingText, of_the_machine};
use crate::words::slug::unique;

pub use crate::words::row::Row;
pub use calls::{BINS, Distribution};
pub use case::{Case, Ledger};
pub use events::Mark;
pub use manifest::{Fact, Group};
pub use memory::{MemoryOf, PhaseRow};
pub use points::{Point, Points};
pub use series::{COLUMNS, Column, Drawn, Series, WarmArm};
pub use shown::Shown;
pub(crate) use typical::typical;

/// A run in the form of a report.
#[derive(Debug)]
pub struct Model<'a> {
    pub document: &'a RunDocument,
    pub cases: Vec<Case<'a>>,
    /// Findings about the machine as a whole.
    pub machine: Vec<FindingText>,
    pub manifest: Vec<Group>,
    /// How the arms are drawn.
    pub cast: Rc<Cast>,
}

impl<'a> Model<'a> {
    pub fn new(document: &'a RunDocument) -> Self {
        Self::beside(document, &[])
    }

    /// The same with the looks of all arms that its suite declares, selected or not.
    pub fn beside(document: &'a RunDocument, declared: &[String]) -> Self {
        let arms = document.cases.iter().flat_map(|case| &case.arms).map(|arm| &arm.name);
        let cast = Rc::new(Cast::new(arms.chain(declared).map(String::as_str)));
        Self {
            document,
            cases: document
                .cases
                .iter()
                .zip(anchors(document))
                .map(|(case, anchor)| Case::new(document, case, anchor, &cast))
                .collect(),
            machine: of_the_machine(document),
            manifest: manifest::manifest(document),
            cast,
        }
    }

    /// The title of the page.
    pub fn title(&self) -> String {
        let name = self.only_command().unwrap_or_else(|| self.document.suite.clone());
        format!("{name}, {}", self.document.created)
    }

    /// The command, if the run measured only one.
    pub(crate) fn only_command(&self) -> Option<String> {
        let [case] = self.document.cases.as_slice() else { return None };
        let [arm] = case.arms.as_slice() else { return None };
        Some(arm.command.as_ref()?.join(" "))
    }
}

/// `case-mlp`, `case-mlp-2`: names as addresses of places in a page.
fn anchors(document: &RunDocument) -> Vec<String> {
    unique(document.cases.iter().map(|case| format!("case-{}", case.name)))
}
