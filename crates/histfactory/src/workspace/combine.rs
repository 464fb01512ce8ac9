//! Combines two workspaces by pyhf's four joins.

use super::{
    Channel, Measurement, MeasurementConfig, Observation, ParameterConfig, Sample, Workspace,
    WorkspaceError,
};

/// The treatment of parts that both workspaces have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Common parts are an error.
    None,
    /// Common parts must be the same.
    Outer,
    /// Common parts are taken from the left without comparison.
    LeftOuter,
    /// Common parts are taken from the right without comparison.
    RightOuter,
}

impl Join {
    pub const ALL: [Self; 4] = [Self::None, Self::Outer, Self::LeftOuter, Self::RightOuter];

    /// The name of the join in pyhf.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Outer => "outer",
            Self::LeftOuter => "left outer",
            Self::RightOuter => "right outer",
        }
    }
}

trait Named: Clone + PartialEq {
    fn name(&self) -> &str;
}

macro_rules! named {
    ($($type:ty),*) => {$(
        impl Named for $type {
            fn name(&self) -> &str {
                &self.name
            }
        }
    )*};
}

named!(Channel, Sample, Observation, Measurement, ParameterConfig);

impl Workspace {
    /// Channels, observations and measurements of both. The outer join merges measurements of one name if
    /// they have the same parameter of interest. With `merge_channels`, channels of one name get the samples
    /// of both; this excludes [`Join::None`].
    pub fn combine(
        left: &Self,
        right: &Self,
        join: Join,
        merge_channels: bool,
    ) -> Result<Self, WorkspaceError> {
        if merge_channels && join == Join::None {
            let what = "channels can only be merged by an outer join";
            return Err(WorkspaceError::Combine(what.to_owned()));
        }
        if left.version != right.version {
            let what = format!("their versions are {} and {}", left.version, right.version);
            return Err(WorkspaceError::Combine(what));
        }
        let channels = join_channels(join, &left.channels, &right.channels, merge_channels);
        let observations = joined(join, &left.observations, &right.observations);
        let combined = Self {
            channels: agreed("channel", join, &left.channels, &right.channels, channels)?,
            measurements: join_measurements(join, &left.measurements, &right.measurements)?,
            observations: agreed(
                "observation",
                join,
                &left.observations,
                &right.observations,
                observations,
            )?,
            version: left.version.clone(),
        };
        combined.validate()?;
        Ok(combined)
    }
}

fn sides<'a, T>(join: Join, left: &'a [T], right: &'a [T]) -> (&'a [T], &'a [T]) {
    match join {
        Join::RightOuter => (right, left),
        Join::None | Join::Outer | Join::LeftOuter => (left, right),
    }
}

fn joined<T: Named>(join: Join, left: &[T], right: &[T]) -> Vec<T> {
    let (primary, secondary) = sides(join, left, right);
    let new = secondary.iter().filter(|item| match join {
        Join::None => true,
        Join::Outer => !primary.contains(item),
        Join::LeftOuter | Join::RightOuter => primary.iter().all(|p| p.name() != item.name()),
    });
    primary.iter().chain(new).cloned().collect()
}

fn join_channels(join: Join, left: &[Channel], right: &[Channel], merge: bool) -> Vec<Channel> {
    if !merge {
        return joined(join, left, right);
    }
    let (primary, secondary) = sides(join, left, right);
    let mut channels = primary.to_vec();
    for channel in secondary {
        match channels.iter_mut().find(|known| known.name == channel.name) {
            Some(known) => {
                known.samples = joined(Join::LeftOuter, &known.samples, &channel.samples);
            }
            None => channels.push(channel.clone()),
        }
    }
    channels
}

/// The joined items, unless the two sides contradict each other.
fn agreed<T: Named>(
    what: &str,
    join: Join,
    left: &[T],
    right: &[T],
    joined: Vec<T>,
) -> Result<Vec<T>, WorkspaceError> {
    match join {
        Join::None => {
            let common = |item: &&T| right.iter().any(|other| other.name() == item.name());
            let problem = left.iter().find(common);
            problem.map_or(Ok(joined), |item| {
                let what = format!("both have a {what} `{}`", item.name());
                Err(WorkspaceError::Combine(what))
            })
        }
        Join::Outer => {
            let twice = |item: &&T| joined.iter().filter(|i| i.name() == item.name()).count() > 1;
            match joined.iter().find(twice) {
                None => Ok(joined),
                Some(item) => {
                    let what = format!("both have a {what} `{}`, and they differ", item.name());
                    Err(WorkspaceError::Combine(what))
                }
            }
        }
        Join::LeftOuter | Join::RightOuter => Ok(joined),
    }
}

fn join_measurements(
    join: Join,
    left: &[Measurement],
    right: &[Measurement],
) -> Result<Vec<Measurement>, WorkspaceError> {
    let all = joined(join, left, right);
    if join != Join::Outer {
        return agreed("measurement", join, left, right, all);
    }
    let mut merged: Vec<Measurement> = Vec::new();
    for measurement in all {
        match merged.iter_mut().find(|known| known.name == measurement.name) {
            None => merged.push(measurement),
            Some(known) => known.config = join_configs(known, &measurement)?,
        }
    }
    Ok(merged)
}

fn join_configs(
    left: &Measurement,
    right: &Measurement,
) -> Result<MeasurementConfig, WorkspaceError> {
    let name = &left.name;
    let (one, two) = (&left.config, &right.config);
    if one.poi != two.poi {
        let (one, two) = (&one.poi, &two.poi);
        let what = format!("measurement `{name}` is of `{one}` in one and of `{two}` in the other");
        return Err(WorkspaceError::Combine(what));
    }
    let parameters = joined(Join::Outer, &one.parameters, &two.parameters);
    let what = format!("measurement `{name}`: setting of parameter");
    let parameters = agreed(&what, Join::Outer, &one.parameters, &two.parameters, parameters)?;
    Ok(MeasurementConfig { parameters, poi: one.poi.clone() })
}
