//! Two commits in one run: one suite of both, measured in turn, and what follows from it.

mod joint;
mod prepare;
mod reproduce;
mod trial;

pub(crate) use prepare::prepare;
pub(crate) use trial::{Amounts, Command, Outcome, Selection, Side, Subject, Trial, measure_sides};
