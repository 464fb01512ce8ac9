//! Results for a terminal, complete without colour and at any width.

mod answers;
pub(crate) mod bar;
mod cold;
mod comparison;
mod conformance;
mod doctor;
mod evidence;
mod findings;
mod gate;
mod ledger;
mod minimum;
mod page;
mod plot;
mod rows;
mod run;
mod screen;
mod sheet;
mod short;
mod strip;
mod suite_trace;
mod sweeps;
mod trace;
mod trace_comparison;
mod trace_programs;
mod validation;
mod verdicts;
mod windows;

use firstlight_schema::comparison::ComparisonDocument;
use firstlight_schema::gate::{BisectDocument, GateDocument};
use firstlight_schema::health::HealthDocument;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite_trace::SuiteTraceDocument;
use firstlight_schema::trace::TraceDocument;
use firstlight_schema::trace_comparison::TraceComparisonDocument;

use page::Page;

pub use run::Report;

const NARROWEST: usize = 40;
const WIDEST: usize = 160;

/// The escape sequences that colour the cells of bars, which the escaping of unsafe text does not remove.
pub fn cell_styles() -> Vec<String> {
    crate::svg::phases::cells().map(|style| style.to_string()).collect()
}

/// The escape sequences that colour text without a background.
pub fn text_styles() -> Vec<String> {
    trace::styles().map(|style| style.to_string()).collect()
}

/// Renders documents for a terminal of a given width.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    width: usize,
}

impl Terminal {
    pub fn new(width: usize) -> Self {
        Self { width: width.clamp(NARROWEST, WIDEST) }
    }

    pub fn comparison(self, document: &ComparisonDocument) -> String {
        let mut page = Page::new(self.width);
        comparison::comparison(&mut page, document);
        page.finish()
    }

    pub fn gate(self, document: &GateDocument) -> String {
        let mut page = Page::new(self.width);
        gate::gate(&mut page, document);
        page.finish()
    }

    pub fn bisect(self, document: &BisectDocument) -> String {
        let mut page = Page::new(self.width);
        gate::bisect(&mut page, document);
        page.finish()
    }

    pub fn doctor(self, document: &HealthDocument) -> String {
        let mut page = Page::new(self.width);
        doctor::doctor(&mut page, document);
        page.finish()
    }

    pub fn run(self, document: &RunDocument, report: Report) -> String {
        let page = Page::new(self.width);
        let mut page = if report == Report::All { page.with_whole_lists() } else { page };
        run::run(&mut page, document, report);
        page.finish()
    }

    pub fn suite_trace(self, document: &SuiteTraceDocument, rows: usize) -> String {
        let mut page = Page::new(self.width);
        suite_trace::suite_trace(&mut page, document, rows);
        page.finish()
    }

    pub fn trace_comparison(self, document: &TraceComparisonDocument, rows: usize) -> String {
        let mut page = Page::new(self.width);
        trace_comparison::trace_comparison(&mut page, document, rows);
        page.finish()
    }

    pub fn trace(self, document: &TraceDocument, rows: usize) -> String {
        let mut page = Page::new(self.width);
        trace::trace(&mut page, document, rows);
        page.finish()
    }
}
