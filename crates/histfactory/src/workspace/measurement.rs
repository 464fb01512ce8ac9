//! Selects a measurement, and checks whether it fits the workspace.

use std::collections::HashMap;

use super::error::{Place, Problem, WorkspaceError};
use super::nearest::nearest;
use super::validate::duplicates;
use super::{Effect, Fixed, Measurement, ParameterConfig, Workspace};

/// The settings that a kind of parameter accepts, and their lengths.
#[derive(Default, Clone, Copy)]
struct Parameter {
    components: usize,
    auxdata: bool,
    sigmas: bool,
    factors: bool,
}

impl Workspace {
    /// The measurement of that name, or the first.
    pub fn measurement(&self, name: Option<&str>) -> Result<&Measurement, WorkspaceError> {
        let Some(name) = name else {
            return self.measurements.first().ok_or(WorkspaceError::NoMeasurement);
        };
        let found = self.measurements.iter().find(|measurement| measurement.name == name);
        found.ok_or_else(|| WorkspaceError::Unknown {
            what: "measurement",
            name: name.to_owned(),
            known: self.measurements.iter().map(|known| known.name.clone()).collect(),
        })
    }

    /// Checks whether this measurement can be compiled into a model: its settings fit the parameters, the
    /// luminosity is complete, and the parameter of interest exists. Settings of parameters that the model
    /// does not have are ignored, as in pyhf.
    pub fn check_measurement(&self, measurement: &Measurement) -> Result<(), WorkspaceError> {
        let mut problems = Vec::new();
        let parameters = self.parameters();
        let place = Place { measurement: Some(measurement.name.clone()), ..Place::default() };
        let configs = &measurement.config.parameters;
        for name in duplicates(configs.iter().map(|config| &config.name)) {
            let what = format!("there are two settings of `{name}`");
            problems.push(Problem { place: place.clone(), what });
        }
        for config in configs {
            if let Some(parameter) = parameters.get(config.name.as_str()) {
                let place = Place { parameter: Some(config.name.clone()), ..place.clone() };
                check_config(config, *parameter, &place, &mut problems);
            }
        }
        check_luminosity(&parameters, configs, &place, &mut problems);
        check_poi(&parameters, &measurement.config.poi, &place, &mut problems);
        if problems.is_empty() { Ok(()) } else { Err(WorkspaceError::Invalid(problems)) }
    }

    /// The parameters that the modifiers name.
    fn parameters(&self) -> HashMap<&str, Parameter> {
        let mut parameters: HashMap<&str, Parameter> = HashMap::new();
        let mut statistical: HashMap<&str, Vec<&str>> = HashMap::new();
        for channel in &self.channels {
            for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
                let parameter = parameters.entry(&modifier.name).or_default();
                let alone = Parameter { components: 1, ..Parameter::default() };
                let normal = Parameter { auxdata: true, ..alone };
                *parameter = match &modifier.effect {
                    Effect::Normfactor => alone,
                    Effect::Histosys { .. } | Effect::Normsys { .. } => normal,
                    Effect::Lumi => Parameter { sigmas: true, ..normal },
                    Effect::Shapefactor => Parameter { components: channel.bins(), ..alone },
                    Effect::Shapesys(data) => {
                        Parameter { components: data.len(), factors: true, ..normal }
                    }
                    Effect::Staterror(data) => {
                        let seen = statistical.entry(&modifier.name).or_default();
                        let more =
                            if seen.contains(&channel.name.as_str()) { 0 } else { data.len() };
                        seen.push(&channel.name);
                        let components = parameter.components + more;
                        Parameter { components, sigmas: true, ..normal }
                    }
                };
            }
        }
        parameters
    }
}

fn check_config(
    config: &ParameterConfig,
    parameter: Parameter,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    let fixed = match &config.fixed {
        Some(Fixed::Each(flags)) => Some(flags.len()),
        Some(Fixed::All(_)) | None => None,
    };
    let lists = [
        ("inits", config.inits.as_ref().map(Vec::len), true),
        ("bounds", config.bounds.as_ref().map(Vec::len), true),
        ("fixed", fixed, true),
        ("auxdata", config.auxdata.as_ref().map(Vec::len), parameter.auxdata),
        ("sigmas", config.sigmas.as_ref().map(Vec::len), parameter.sigmas),
        ("factors", config.factors.as_ref().map(Vec::len), parameter.factors),
    ];
    for (key, length, used) in lists {
        let what = match length {
            Some(_) if !used => format!("this parameter has no `{key}`"),
            Some(length) if length != parameter.components => {
                let expected = parameter.components;
                format!("`{key}` has {length} entries, the parameter has {expected}")
            }
            None | Some(_) => continue,
        };
        problems.push(Problem { place: place.clone(), what });
    }
    check_values(config, place, problems);
}

fn check_values(config: &ParameterConfig, place: &Place, problems: &mut Vec<Problem>) {
    let mut complain = |what: String| problems.push(Problem { place: place.clone(), what });
    for [low, high] in config.bounds.iter().flatten() {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            complain(format!("the bounds [{low}, {high}] are not an interval"));
        }
    }
    for sigma in
        config.sigmas.iter().flatten().filter(|sigma| !(sigma.is_finite() && **sigma > 0.0))
    {
        complain(format!("the width {sigma} in `sigmas` is not positive"));
    }
    let lists =
        [("inits", &config.inits), ("auxdata", &config.auxdata), ("factors", &config.factors)];
    for (key, values) in lists {
        if let Some(value) = values.iter().flatten().find(|value| !value.is_finite()) {
            complain(format!("`{key}` has {value}"));
        }
    }
}

fn check_luminosity(
    parameters: &HashMap<&str, Parameter>,
    configs: &[ParameterConfig],
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    if !parameters.get("lumi").is_some_and(|lumi| lumi.sigmas && lumi.components == 1) {
        return;
    }
    let place = Place { parameter: Some("lumi".to_owned()), ..place.clone() };
    let config = configs.iter().find(|config| config.name == "lumi").cloned().unwrap_or_default();
    let there = [
        ("inits", config.inits.is_some()),
        ("bounds", config.bounds.is_some()),
        ("auxdata", config.auxdata.is_some()),
        ("sigmas", config.sigmas.is_some()),
    ];
    let missing: Vec<String> =
        there.iter().filter(|(_, there)| !there).map(|(key, _)| format!("`{key}`")).collect();
    if !missing.is_empty() {
        let what = format!("a luminosity needs {}", missing.join(", "));
        problems.push(Problem { place, what });
    }
}

fn check_poi(
    parameters: &HashMap<&str, Parameter>,
    poi: &str,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    let what = match parameters.get(poi) {
        Some(parameter) if parameter.components == 1 => return,
        None if poi.is_empty() => return,
        Some(parameter) => {
            let n = parameter.components;
            format!("the parameter of interest `{poi}` has {n} components, it must have one")
        }
        None => {
            let mut known: Vec<&str> = parameters.keys().copied().collect();
            known.sort_unstable();
            let meant = nearest(poi, known);
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            format!("the parameter of interest `{poi}` is not in the model{meant}")
        }
    };
    problems.push(Problem { place: place.clone(), what });
}
