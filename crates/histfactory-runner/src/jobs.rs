//! The cases of the suite.

use std::path::PathBuf;

use firstlight_runner::Failure;
use histfactory::derivative::Convention;
use histfactory::inference::Dataset;
use histfactory::objective::{Input, Objective, Quantity};
use histfactory::{Data, FitOptions, Model, ModelOptions, Workspace};

/// The length and the rate of a training.
pub(crate) struct Loop {
    pub(crate) rate: f64,
    pub(crate) rates: Vec<f64>,
    pub(crate) steps: usize,
}

/// A case, ready to be repeated.
pub(crate) enum Job {
    Load(PathBuf),
    Nll { model: Box<Model>, gradient: bool },
    Fit(Box<Model>),
    Q0 { model: Box<Model>, asimov: Data },
    Function { objective: Box<Objective>, sign: f64, gradient: bool },
    Training { objective: Box<Objective>, yields: Vec<f64>, loop_: Loop, sweep: bool },
}

fn load(path: &PathBuf) -> Result<Model, Failure> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Model::new(&Workspace::from_slice(&bytes)?, &ModelOptions::default())?)
}

impl Job {
    pub(crate) fn new(
        name: &str,
        path: PathBuf,
        signal: &str,
        loop_: Loop,
    ) -> Result<Self, Failure> {
        if name == "load" {
            return Ok(Self::Load(path));
        }
        let model = Box::new(load(&path)?);
        let dataset = Dataset::default();
        let objective = |quantity| {
            let channels = model.channels().map(|(name, _)| name);
            let channels = channels.filter(|channel| model.has_sample(channel, signal));
            let inputs: Vec<Input> = channels
                .map(|channel| Input::Nominal {
                    channel: channel.to_owned(),
                    sample: signal.to_owned(),
                })
                .collect();
            Objective::new(&model, quantity, &inputs, Convention::TemplatesFixed).map(Box::new)
        };
        let function = |quantity, sign, gradient| {
            Ok::<_, Failure>(Self::Function { objective: objective(quantity)?, sign, gradient })
        };
        let significance = Quantity::Significance { dataset, smooth: 0.0 };
        Ok(match name {
            "nll" => Self::Nll { model, gradient: false },
            "nll-gradient" => Self::Nll { model, gradient: true },
            "signal-gradient" => function(Quantity::Nll, 1.0, true)?,
            "fit" => Self::Fit(model),
            "q0" => {
                let asimov = model.asimov(model.init())?;
                Self::Q0 { model, asimov }
            }
            "q0-gradient" => function(Quantity::Q0 { dataset }, 1.0, true)?,
            "loss" => function(significance, -1.0, false)?,
            "loss-gradient" => function(significance, -1.0, true)?,
            "training" | "sweep" => {
                let objective = objective(significance)?;
                let yields = objective.current();
                Self::Training { objective, yields, loop_, sweep: name == "sweep" }
            }
            other => return Err(format!("there is no job `{other}`").into()),
        })
    }

    pub(crate) fn run(&self) -> Result<Vec<f64>, Failure> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "a number of parameters")]
            Self::Load(path) => Ok(vec![load(path)?.parameter_count() as f64]),
            Self::Nll { model, gradient: false } => {
                Ok(vec![model.nll(model.init(), model.observed())?])
            }
            Self::Nll { model, gradient: true } => {
                let (nll, gradient) = model.nll_and_gradient(model.init(), model.observed())?;
                Ok([vec![nll], gradient].concat())
            }
            Self::Fit(model) => {
                Ok(vec![model.fit(model.observed(), &FitOptions::default())?.require()?.nll])
            }
            Self::Q0 { model, asimov } => Ok(vec![model.q0(asimov)?.value]),
            Self::Function { objective, sign, gradient } => {
                let mut slopes = vec![0.0; if *gradient { objective.len() } else { 0 }];
                let wanted = gradient.then_some(slopes.as_mut_slice());
                let value = objective.evaluate(&objective.current(), wanted)?;
                let all = [vec![value], slopes].concat();
                Ok(all.into_iter().map(|number| sign * number).collect())
            }
            Self::Training { objective, yields, loop_, sweep: false } => {
                train(objective, yields, loop_.rate, loop_.steps)
            }
            Self::Training { objective, yields, loop_, sweep: true } => {
                let last = |rate: &f64| {
                    let losses = train(objective, yields, *rate, loop_.steps)?;
                    losses.last().copied().ok_or_else(|| "no step was made".into())
                };
                loop_.rates.iter().map(last).collect()
            }
        }
    }
}

/// Gradient descent on minus the significance. The yields are a softmax of the weights times their sum.
/// Returns the loss of every step.
fn train(
    objective: &Objective,
    yields: &[f64],
    rate: f64,
    steps: usize,
) -> Result<Vec<f64>, Failure> {
    let amount: f64 = yields.iter().sum();
    let mut weights = vec![0.0_f64; yields.len()];
    let mut slopes = vec![0.0; yields.len()];
    let mut losses = Vec::with_capacity(steps);
    for _ in 0..steps {
        let largest = weights.iter().copied().fold(f64::MIN, f64::max);
        let raised: Vec<f64> = weights.iter().map(|weight| (weight - largest).exp()).collect();
        let sum: f64 = raised.iter().sum();
        let shares: Vec<f64> = raised.iter().map(|value| value / sum).collect();
        let x: Vec<f64> = shares.iter().map(|share| amount * share).collect();
        losses.push(-objective.evaluate(&x, Some(&mut slopes))?);
        let mean: f64 = shares.iter().zip(&slopes).map(|(share, slope)| share * slope).sum();
        for ((weight, share), slope) in weights.iter_mut().zip(&shares).zip(&slopes) {
            *weight += rate * amount * share * (slope - mean);
        }
    }
    Ok(losses)
}
