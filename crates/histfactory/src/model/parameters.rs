//! The parameters of a workspace, in pyhf's order and with its defaults.

use std::collections::HashMap;

use super::error::ModelError;
use crate::workspace::{Fixed, ModifierType, ParameterConfig};

/// A parameter set before the measurement's settings are applied.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Requirement {
    pub(super) kind: ModifierType,
    pub(super) scalar: bool,
    pub(super) init: Vec<f64>,
    pub(super) bounds: Vec<[f64; 2]>,
    pub(super) fixed: Vec<bool>,
    pub(super) density: Density,
}

/// The constraint of a parameter set.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Density {
    Free,
    Normal { auxiliary: Vec<f64>, sigmas: Option<Vec<f64>> },
    Poisson { factors: Vec<f64>, auxiliary: Vec<f64> },
}

/// A parameter set after the measurement's settings are applied.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each records whether one setting was given")]
pub(super) struct Settled {
    pub(super) name: String,
    pub(super) requirement: Requirement,
    pub(super) sigmas_given: bool,
    pub(super) auxiliary_given: bool,
    pub(super) factors_given: bool,
    pub(super) fixed_given: bool,
}

impl Requirement {
    pub(super) fn count(&self) -> usize {
        self.fixed.len()
    }

    /// The requirements of a kind of modifier on its parameters, apart from numbers of the workspace.
    pub(super) fn new(kind: ModifierType, bins: usize) -> Self {
        let scalar = |init, bounds, density| Self {
            kind,
            scalar: true,
            init: vec![init],
            bounds: vec![bounds],
            fixed: vec![false],
            density,
        };
        match kind {
            ModifierType::Histosys | ModifierType::Normsys => {
                let density = Density::Normal { auxiliary: vec![0.0], sigmas: None };
                scalar(0.0, [-5.0, 5.0], density)
            }
            // The measurement must give the other settings.
            ModifierType::Lumi => Self {
                kind,
                scalar: true,
                init: Vec::new(),
                bounds: Vec::new(),
                fixed: vec![false],
                density: Density::Normal { auxiliary: Vec::new(), sigmas: Some(Vec::new()) },
            },
            ModifierType::Normfactor => scalar(1.0, [0.0, 10.0], Density::Free),
            ModifierType::Shapefactor => Self {
                kind,
                scalar: false,
                init: vec![1.0; bins],
                bounds: vec![[0.0, 10.0]; bins],
                fixed: vec![false; bins],
                density: Density::Free,
            },
            ModifierType::Shapesys | ModifierType::Staterror => Self {
                kind,
                scalar: false,
                init: vec![1.0; bins],
                bounds: vec![[1e-10, 10.0]; bins],
                fixed: vec![false; bins],
                density: Density::Free,
            },
        }
    }

    fn same_as(&self, other: &Self) -> bool {
        self.scalar == other.scalar
            && self.init == other.init
            && self.bounds == other.bounds
            && self.fixed == other.fixed
            && self.density == other.density
    }
}

/// The parameter sets in the order of their types, then of their first appearance. Two types that use one
/// name share a set if their requirements are the same.
pub(super) fn settle(
    required: Vec<(String, Requirement)>,
    configs: &[ParameterConfig],
) -> Result<Vec<Settled>, ModelError> {
    let mut place: HashMap<String, usize> = HashMap::new();
    let mut sets: Vec<(String, Requirement)> = Vec::new();
    for (name, requirement) in required {
        match place.get(&name) {
            None => {
                place.insert(name.clone(), sets.len());
                sets.push((name, requirement));
            }
            Some(&index) if sets[index].1.same_as(&requirement) => {}
            Some(&index) => {
                let what = format!(
                    "a {} and a {} cannot share it: they ask for different parameters",
                    sets[index].1.kind, requirement.kind
                );
                return Err(ModelError::Parameter { parameter: name, what });
            }
        }
    }
    let by_name: HashMap<&str, &ParameterConfig> =
        configs.iter().map(|config| (config.name.as_str(), config)).collect();
    sets.into_iter()
        .map(|(name, requirement)| {
            let config = by_name.get(name.as_str()).copied();
            configure(name, requirement, config)
        })
        .collect()
}

fn configure(
    name: String,
    mut requirement: Requirement,
    config: Option<&ParameterConfig>,
) -> Result<Settled, ModelError> {
    let nothing = ParameterConfig::default();
    let config = config.unwrap_or(&nothing);
    let count = requirement.count();
    let error = |what: String| ModelError::Parameter { parameter: name.clone(), what };
    let length = |what: &str, got: usize| match got {
        right if right == count => Ok(()),
        _ => Err(error(format!("{got} {what} are configured, it has {count} components"))),
    };
    if let Some(inits) = &config.inits {
        length("inits", inits.len())?;
        requirement.init.clone_from(inits);
    }
    if let Some(bounds) = &config.bounds {
        length("bounds", bounds.len())?;
        requirement.bounds.clone_from(bounds);
    }
    match &config.fixed {
        None => {}
        Some(Fixed::All(flag)) => requirement.fixed = vec![*flag; count],
        Some(Fixed::Each(flags)) => {
            length("flags `fixed`", flags.len())?;
            requirement.fixed.clone_from(flags);
        }
    }
    match &mut requirement.density {
        Density::Free => {
            let unused = [
                ("auxdata", config.auxdata.is_some()),
                ("sigmas", config.sigmas.is_some()),
                ("factors", config.factors.is_some()),
            ];
            if let Some((what, _)) = unused.iter().find(|(_, given)| *given) {
                return Err(error(format!("`{what}` is configured, but it has no constraint")));
            }
        }
        Density::Normal { auxiliary, sigmas } => {
            if let Some(values) = &config.auxdata {
                length("auxdata", values.len())?;
                auxiliary.clone_from(values);
            }
            if let Some(values) = &config.sigmas {
                length("sigmas", values.len())?;
                match sigmas {
                    Some(sigmas) => sigmas.clone_from(values),
                    None => return Err(error("`sigmas` is configured, its width is 1".to_owned())),
                }
            }
            if config.factors.is_some() {
                return Err(error("`factors` is configured, its constraint is normal".to_owned()));
            }
        }
        Density::Poisson { factors, auxiliary } => {
            if let Some(values) = &config.auxdata {
                length("auxdata", values.len())?;
                auxiliary.clone_from(values);
            }
            if let Some(values) = &config.factors {
                length("factors", values.len())?;
                factors.clone_from(values);
            }
            if config.sigmas.is_some() {
                return Err(error("`sigmas` is configured, its constraint is Poisson".to_owned()));
            }
        }
    }
    complete(&name, &requirement)?;
    Ok(Settled {
        requirement,
        sigmas_given: config.sigmas.is_some(),
        auxiliary_given: config.auxdata.is_some(),
        factors_given: config.factors.is_some(),
        fixed_given: config.fixed.is_some(),
        name,
    })
}

/// Checks that everything is present, finite and in its range.
fn complete(name: &str, requirement: &Requirement) -> Result<(), ModelError> {
    let error = |what: String| Err(ModelError::Parameter { parameter: name.to_owned(), what });
    let count = requirement.count();
    let needs = |what: &str| {
        error(format!("a {} needs `{what}` in the measurement's parameters", requirement.kind))
    };
    if requirement.init.len() != count {
        return needs("inits");
    }
    if requirement.bounds.len() != count {
        return needs("bounds");
    }
    if let Some(value) = requirement.init.iter().find(|value| !value.is_finite()) {
        return error(format!("its initial value is {value}"));
    }
    if let Some([low, high]) = requirement.bounds.iter().find(|[low, high]| !(low <= high)) {
        return error(format!("its bounds are {low} and {high}"));
    }
    let (auxiliary, scales) = match &requirement.density {
        Density::Free => return Ok(()),
        Density::Normal { auxiliary, sigmas: None } => (auxiliary, None),
        Density::Normal { auxiliary, sigmas: Some(sigmas) } => {
            (auxiliary, Some(("sigmas", sigmas)))
        }
        Density::Poisson { factors, auxiliary } => (auxiliary, Some(("factors", factors))),
    };
    if auxiliary.len() != count {
        return needs("auxdata");
    }
    if let Some(value) = auxiliary.iter().find(|value| !value.is_finite()) {
        return error(format!("its auxiliary measurement is {value}"));
    }
    if let Some((what, scales)) = scales {
        if scales.len() != count {
            return needs(what);
        }
        if let Some(value) = scales.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return error(format!("`{what}` has {value}; it must be positive"));
        }
    }
    Ok(())
}
