//! The variance between and within processes, and the resulting plan for the next run.
//!
//! With S²ₚ the variance of the process means, S²ᵢ the mean variance of iterations and n iterations
//! per process: T²ₚ = S²ₚ − S²ᵢ / n and T²ᵢ = S²ᵢ. The number of iterations that buys most certainty
//! for its cost is ⌈√((cₚ / cᵢ) (T²ᵢ / T²ₚ))⌉. (Kalibera and Jones, Rigorous benchmarking in
//! reasonable time, ISMM 2013, with its erratum: S² on the right of the first equation.)

use super::{autocorrelation_time, count, mean, variance};

/// The steady part of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyPart {
    pub mean: f64,
    /// The variance of iterations times their autocorrelation time; divided by n, it is that of a mean of n.
    pub variance: f64,
    pub n: usize,
}

impl SteadyPart {
    /// `None` for fewer than two values.
    pub fn new(values: &[f64]) -> Option<Self> {
        let variance = variance(values)? * autocorrelation_time(values);
        Some(Self { mean: mean(values), variance, n: values.len() })
    }
}

/// The standard deviations of processes and iterations, relative to the mean of all processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    pub process_sd: f64,
    /// Inflated by the autocorrelation time, as if iterations were independent.
    pub iteration_sd: f64,
}

impl Components {
    /// `None` for fewer than two processes.
    pub fn new(processes: &[SteadyPart]) -> Option<Self> {
        let means: Vec<f64> = processes.iter().map(|process| process.mean).collect();
        let between = variance(&means)?;
        let level = mean(&means);
        let m = count(processes.len());
        let within = processes.iter().map(|process| process.variance).sum::<f64>() / m;
        let of_means =
            processes.iter().map(|process| process.variance / count(process.n)).sum::<f64>() / m;
        (level > 0.0).then(|| Self {
            process_sd: (between - of_means).max(0.0).sqrt() / level,
            iteration_sd: within.sqrt() / level,
        })
    }

    /// The best number of iterations of a process, given the costs of a process and an iteration; `None` if
    /// processes do not differ, so that one process is enough.
    pub fn optimal_iterations(&self, process_ns: f64, iteration_ns: f64) -> Option<u32> {
        let best = (process_ns / iteration_ns).sqrt() * self.iteration_sd / self.process_sd;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from a float saturates"
        )]
        let whole = best.ceil().max(1.0) as u32;
        best.is_finite().then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn planted_components_are_found() {
        let mut noise = Noise::new(8);
        let processes: Vec<SteadyPart> = (0..400)
            .map(|_| {
                let level = 1e6 * (1.0 + 0.01 * noise.normal());
                SteadyPart::new(&noise.series(200, level, 0.03, 0.0)).unwrap()
            })
            .collect();
        let components = Components::new(&processes).unwrap();
        assert!((components.process_sd - 0.01).abs() < 0.001, "{components:?}");
        assert!((components.iteration_sd - 0.03).abs() < 0.002, "{components:?}");
    }

    #[test]
    fn the_optimum_matches_the_formula() {
        let components = Components { process_sd: 0.01, iteration_sd: 0.03 };
        // √(100 / 1) · 3 = 30
        assert_eq!(components.optimal_iterations(100.0, 1.0), Some(30));
        assert_eq!(components.optimal_iterations(1e-9, 1.0), Some(1));
    }

    #[test]
    fn processes_that_do_not_differ_have_no_optimum() {
        let same = SteadyPart { mean: 1e6, variance: 1e8, n: 100 };
        let components = Components::new(&[same; 5]).unwrap();
        assert!(components.process_sd.abs() < f64::EPSILON);
        assert_eq!(components.optimal_iterations(1e9, 1e6), None);
        assert_eq!(Components { process_sd: 0.1, ..components }.optimal_iterations(1.0, 0.0), None);
    }

    #[test]
    fn one_process_has_no_components() {
        assert_eq!(Components::new(&[SteadyPart { mean: 1.0, variance: 1.0, n: 9 }]), None);
        assert_eq!(SteadyPart::new(&[1.0]), None);
    }
}
