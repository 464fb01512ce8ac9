//! Checks that the schema cannot express: lengths, names, finite numbers, observations.

use std::collections::HashSet;

use super::error::{Place, Problem, WorkspaceError};
use super::sharing;
use super::{Channel, Effect, Modifier, ModifierType, Sample, VERSION, Workspace};

impl Workspace {
    /// All errors of the workspace itself. [`Workspace::check_measurement`] checks separately whether a
    /// measurement fits it.
    pub fn validate(&self) -> Result<(), WorkspaceError> {
        let mut problems = Vec::new();
        self.check_envelope(&mut problems);
        for channel in &self.channels {
            check_channel(channel, &mut problems);
        }
        self.check_observations(&mut problems);
        sharing::check(&self.channels, &mut problems);
        if problems.is_empty() { Ok(()) } else { Err(WorkspaceError::Invalid(problems)) }
    }

    fn check_envelope(&self, problems: &mut Vec<Problem>) {
        let lists = [
            ("channels", self.channels.len()),
            ("measurements", self.measurements.len()),
            ("observations", self.observations.len()),
        ];
        for (key, _) in lists.iter().filter(|(_, length)| *length == 0) {
            problems.push(Problem::anywhere(format!("`{key}` is empty")));
        }
        if self.version != VERSION {
            let what = format!("`version` is \"{}\", only \"{VERSION}\" is known", self.version);
            problems.push(Problem::anywhere(what));
        }
        for name in duplicates(self.channels.iter().map(|channel| &channel.name)) {
            problems.push(Problem::anywhere(format!("there are two channels `{name}`")));
        }
        for name in duplicates(self.measurements.iter().map(|measurement| &measurement.name)) {
            problems.push(Problem::anywhere(format!("there are two measurements `{name}`")));
        }
        for name in duplicates(self.observations.iter().map(|observation| &observation.name)) {
            problems.push(Problem::anywhere(format!("there are two observations `{name}`")));
        }
    }

    fn check_observations(&self, problems: &mut Vec<Problem>) {
        for observation in &self.observations {
            let place =
                || Place { observation: Some(observation.name.clone()), ..Place::default() };
            finite(&observation.data, "data", &place, problems);
        }
        for channel in &self.channels {
            let found = self.observations.iter().find(|found| found.name == channel.name);
            let what = match found.map(|observation| observation.data.len()) {
                None => "there is no observation of this channel".to_owned(),
                Some(bins) if bins != channel.bins() => {
                    let expected = channel.bins();
                    format!("the observation has {bins} bins, the channel has {expected}")
                }
                Some(_) => continue,
            };
            problems.push(Problem { place: Place::of_channel(channel), what });
        }
    }
}

fn check_channel(channel: &Channel, problems: &mut Vec<Problem>) {
    let place = Place::of_channel(channel);
    if channel.samples.is_empty() {
        problems.push(Problem { place: place.clone(), what: "`samples` is empty".to_owned() });
    }
    for name in duplicates(channel.samples.iter().map(|sample| &sample.name)) {
        let what = format!("there are two samples `{name}`");
        problems.push(Problem { place: place.clone(), what });
    }
    for sample in &channel.samples {
        check_sample(channel, sample, problems);
    }
}

fn check_sample(channel: &Channel, sample: &Sample, problems: &mut Vec<Problem>) {
    let place = || Place { sample: Some(sample.name.clone()), ..Place::of_channel(channel) };
    let bins = channel.bins();
    if sample.data.is_empty() {
        problems.push(Problem { place: place(), what: "`data` is empty".to_owned() });
    } else if sample.data.len() != bins {
        let first = &channel.samples[0].name;
        let what = format!("`data` has {} bins, sample `{first}` has {bins}", sample.data.len());
        problems.push(Problem { place: place(), what });
    }
    finite(&sample.data, "data", &place, problems);
    let mut seen = HashSet::with_capacity(sample.modifiers.len());
    for modifier in &sample.modifiers {
        let place = || Place { modifier: Some(modifier.name.clone()), ..place() };
        if !seen.insert((modifier.kind(), modifier.name.as_str())) {
            let what = format!("the {} is there twice", modifier.kind());
            problems.push(Problem { place: place(), what });
        }
        check_modifier(modifier, bins, &place, problems);
    }
}

fn check_modifier(
    modifier: &Modifier,
    bins: usize,
    place: &impl Fn() -> Place,
    problems: &mut Vec<Problem>,
) {
    let mut list = |key: &str, data: &[f64]| {
        if data.len() != bins {
            let what = format!("`{key}` has {} bins, the channel has {bins}", data.len());
            problems.push(Problem { place: place(), what });
        }
        finite(data, key, place, problems);
    };
    match &modifier.effect {
        Effect::Histosys { lo, hi } => {
            list("lo_data", lo);
            list("hi_data", hi);
        }
        Effect::Shapesys(data) | Effect::Staterror(data) => list("data", data),
        Effect::Normsys { lo, hi } => {
            finite(&[*lo], "lo", place, problems);
            finite(&[*hi], "hi", place, problems);
        }
        Effect::Lumi | Effect::Normfactor | Effect::Shapefactor => {}
    }
    if modifier.kind() == ModifierType::Lumi && modifier.name != "lumi" {
        let what = "a lumi modifier is called `lumi`".to_owned();
        problems.push(Problem { place: place(), what });
    }
}

/// The place is only formatted for an error.
fn finite(data: &[f64], key: &str, place: &impl Fn() -> Place, problems: &mut Vec<Problem>) {
    if let Some(index) = data.iter().position(|value| !value.is_finite()) {
        let what = format!("entry {index} of `{key}` is {}", data[index]);
        problems.push(Problem { place: place(), what });
    }
}

/// Names that occur more than once, each reported once.
pub(super) fn duplicates<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    let mut twice = Vec::new();
    for name in names {
        if !seen.insert(name.as_str()) && !twice.contains(&name.as_str()) {
            twice.push(name.as_str());
        }
    }
    twice
}
