//! Removes, renames and sorts parts of a workspace.

use std::collections::BTreeMap;

use super::{Channel, ModifierType, Workspace, WorkspaceError};

/// The parts to remove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruning {
    pub modifiers: Vec<String>,
    pub modifier_types: Vec<ModifierType>,
    pub samples: Vec<String>,
    pub channels: Vec<String>,
    pub measurements: Vec<String>,
}

/// Pairs of old and new names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renaming {
    pub modifiers: BTreeMap<String, String>,
    pub samples: BTreeMap<String, String>,
    pub channels: BTreeMap<String, String>,
    pub measurements: BTreeMap<String, String>,
}

impl Workspace {
    /// The workspace without some of its parts. Observations are removed with their channels, settings of
    /// parameters with their modifiers. The rest must be a valid workspace.
    pub fn prune(&self, pruning: &Pruning) -> Result<Self, WorkspaceError> {
        self.expect_modifiers(&pruning.modifiers)?;
        self.expect_types(&pruning.modifier_types)?;
        self.expect_samples(&pruning.samples)?;
        self.expect_channels(&pruning.channels)?;
        self.expect_measurements(&pruning.measurements)?;
        let mut pruned = self.clone();
        pruned.channels.retain(|channel| !pruning.channels.contains(&channel.name));
        pruned.observations.retain(|observation| !pruning.channels.contains(&observation.name));
        for channel in &mut pruned.channels {
            prune_channel(channel, pruning);
        }
        pruned.measurements.retain(|found| !pruning.measurements.contains(&found.name));
        for measurement in &mut pruned.measurements {
            let parameters = &mut measurement.config.parameters;
            parameters.retain(|parameter| !pruning.modifiers.contains(&parameter.name));
        }
        pruned.validate()?;
        Ok(pruned)
    }

    /// The workspace with other names, also in observations, settings of parameters and parameters of
    /// interest.
    pub fn rename(&self, renaming: &Renaming) -> Result<Self, WorkspaceError> {
        self.expect_modifiers(renaming.modifiers.keys())?;
        self.expect_samples(renaming.samples.keys())?;
        self.expect_channels(renaming.channels.keys())?;
        self.expect_measurements(renaming.measurements.keys())?;
        let mut renamed = self.clone();
        for channel in &mut renamed.channels {
            replace(&mut channel.name, &renaming.channels);
            for sample in &mut channel.samples {
                replace(&mut sample.name, &renaming.samples);
                for modifier in &mut sample.modifiers {
                    replace(&mut modifier.name, &renaming.modifiers);
                }
            }
        }
        for observation in &mut renamed.observations {
            replace(&mut observation.name, &renaming.channels);
        }
        for measurement in &mut renamed.measurements {
            replace(&mut measurement.name, &renaming.measurements);
            replace(&mut measurement.config.poi, &renaming.modifiers);
            for parameter in &mut measurement.config.parameters {
                replace(&mut parameter.name, &renaming.modifiers);
            }
        }
        renamed.validate()?;
        Ok(renamed)
    }

    /// The workspace with all parts sorted by name.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        sorted.channels.sort_by(|a, b| a.name.cmp(&b.name));
        for channel in &mut sorted.channels {
            channel.samples.sort_by(|a, b| a.name.cmp(&b.name));
            for sample in &mut channel.samples {
                sample.modifiers.sort_by(|a, b| {
                    (&a.name, a.kind().as_str()).cmp(&(&b.name, b.kind().as_str()))
                });
            }
        }
        sorted.measurements.sort_by(|a, b| a.name.cmp(&b.name));
        for measurement in &mut sorted.measurements {
            measurement.config.parameters.sort_by(|a, b| a.name.cmp(&b.name));
        }
        sorted.observations.sort_by(|a, b| a.name.cmp(&b.name));
        sorted
    }

    fn expect_channels<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Expected {
        expect("channel", names, self.channels.iter().map(|channel| &channel.name))
    }

    fn expect_samples<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Expected {
        let samples = self.channels.iter().flat_map(|channel| &channel.samples);
        expect("sample", names, samples.map(|sample| &sample.name))
    }

    fn expect_modifiers<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Expected {
        let samples = self.channels.iter().flat_map(|channel| &channel.samples);
        let modifiers = samples.flat_map(|sample| &sample.modifiers);
        expect("modifier", names, modifiers.map(|modifier| &modifier.name))
    }

    fn expect_measurements<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Expected {
        expect("measurement", names, self.measurements.iter().map(|found| &found.name))
    }

    fn expect_types(&self, types: &[ModifierType]) -> Expected {
        let samples = self.channels.iter().flat_map(|channel| &channel.samples);
        let modifiers = samples.flat_map(|sample| &sample.modifiers);
        let known: Vec<String> =
            modifiers.map(|modifier| modifier.kind().as_str().to_owned()).collect();
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        expect("modifier type", &types, &known)
    }
}

type Expected = Result<(), WorkspaceError>;

/// Checks that all names are known; the error names the first that is not.
fn expect<'a, 'b>(
    what: &'static str,
    names: impl IntoIterator<Item = &'a String>,
    known: impl IntoIterator<Item = &'b String>,
) -> Expected {
    let known: std::collections::BTreeSet<&String> = known.into_iter().collect();
    match names.into_iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let known = known.into_iter().cloned().collect();
            Err(WorkspaceError::Unknown { what, name: name.clone(), known })
        }
    }
}

fn prune_channel(channel: &mut Channel, pruning: &Pruning) {
    channel.samples.retain(|sample| !pruning.samples.contains(&sample.name));
    for sample in &mut channel.samples {
        sample.modifiers.retain(|modifier| {
            !pruning.modifiers.contains(&modifier.name)
                && !pruning.modifier_types.contains(&modifier.kind())
        });
    }
}

fn replace(name: &mut String, names: &BTreeMap<String, String>) {
    if let Some(new) = names.get(name) {
        name.clone_from(new);
    }
}
