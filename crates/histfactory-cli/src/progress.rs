//! A progress bar with the remaining time, on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::printer::Printer;

pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(steps: usize, what: &'static str, printer: &Printer) -> Self {
        let target = if printer.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        let template = "{bar:24} {pos}/{len} {msg}  {elapsed} taken, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
        bar.set_message(what);
        Self { bar }
    }

    pub(crate) fn advance(&self, steps: usize) {
        self.bar.inc(steps as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
