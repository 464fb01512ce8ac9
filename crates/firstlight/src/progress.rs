//! A progress bar with the remaining time, redrawn between processes and never during a measurement.

use firstlight_engine::sampling::Observer;
use firstlight_schema::reading::{RawSample, SampleRole, Subject};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::escaping::escaped;

pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(processes: u64, shown: bool) -> Self {
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(processes), target);
        let template = "{bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
        Self { bar }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn starting(&mut self, role: SampleRole, subject: Option<&Subject>) {
        let what = match role {
            SampleRole::Measured => "",
            SampleRole::Priming => "filling caches",
            SampleRole::Control => "control",
        };
        let message = match subject {
            None => what.to_owned(),
            Some(subject) => {
                let regime = subject.regime.map_or(what, |regime| regime.name());
                let again = if subject.again { " again" } else { "" };
                format!("{}, {}{again}, {regime}", subject.case, subject.arm)
            }
        };
        self.bar.set_message(escaped(&message).into_owned());
        self.bar.tick();
    }

    fn taken(&mut self, _: &RawSample) {
        self.bar.inc(1);
    }

    fn extended(&mut self, processes: u32) {
        self.bar.inc_length(u64::from(processes));
    }
}
