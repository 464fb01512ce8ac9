//! One file per command: settings in, exit code out.

mod cold;
mod compare;
mod doctor;
mod export;
mod import;
mod list;
mod measure;
mod merge;
mod new;
mod publish;
mod report;
mod resume;
mod run;
mod show;
mod snapshot;
mod suite_trace;
mod trace;
mod verify;
mod warm;

pub(crate) use cold::cold;
pub(crate) use compare::compare;
pub(crate) use doctor::doctor;
pub(crate) use export::export;
pub(crate) use import::import;
pub(crate) use list::list;
pub(crate) use merge::merge;
pub(crate) use new::new;
pub(crate) use publish::publish;
pub(crate) use report::report;
pub(crate) use run::run;
pub(crate) use show::show;
pub(crate) use snapshot::snapshot;
pub(crate) use trace::trace;
pub(crate) use verify::verify;
pub(crate) use warm::warm;
