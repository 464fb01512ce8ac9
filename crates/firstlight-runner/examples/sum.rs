//! A workload in Rust: sums as many numbers as its case requests. `fail = true` makes its check reject the
//! result.

use std::process::ExitCode;

use firstlight_runner::{Failure, Prepare, Scalar, Workload, serve};

struct Sum {
    numbers: Vec<f64>,
    expected: f64,
}

impl Workload for Sum {
    type Output = f64;

    fn call(&mut self) -> f64 {
        self.numbers.iter().sum()
    }

    fn check(&mut self, result: &f64) -> Option<Result<(), Failure>> {
        let close = (result - self.expected).abs() < 1e-9 * self.expected.abs();
        Some(if close { Ok(()) } else { Err(format!("{result} is not {}", self.expected).into()) })
    }

    fn values(&mut self, result: &f64) -> Option<Vec<f64>> {
        Some(vec![*result])
    }
}

fn setup(prepare: &Prepare) -> Result<Sum, Failure> {
    let Some(Scalar::Integer(count)) = prepare.parameters.get("count") else {
        return Err("the case has no whole number `count`".into());
    };
    let numbers: Vec<f64> = (1..=u32::try_from(*count)?).map(f64::from).collect();
    let last = numbers.last().copied().unwrap_or(0.0);
    let wrong = prepare.options.get("fail") == Some(&Scalar::Bool(true));
    let expected = last * (last + 1.0) / 2.0 + if wrong { 1e6 } else { 0.0 };
    Ok(Sum { numbers, expected })
}

fn main() -> ExitCode {
    serve(setup)
}
