//! Test statistics of toys that are drawn and fitted on a GPU.

use histfactory::Model;
use histfactory::inference::TestKind;
use histfactory::toys::ToyOptions;

use crate::CudaError;
use crate::batch::{DeviceModel, MOST_STEPS, Status, TOLERANCE};
use crate::calls::Toys;
use crate::driver::Buffer;
use crate::plan::int;

/// Statistics of toys, and what the GPU did not do.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceToys {
    /// `None` where a fit did not converge on the CPU either.
    pub statistics: Vec<Option<f64>>,
    /// Toys that were computed again on the CPU.
    pub on_cpu: usize,
}

/// The kernels' own results, with the toys if they were kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RawToys {
    pub statistics: Vec<f64>,
    pub mu_hat: Vec<f64>,
    pub status: Vec<Status>,
    /// Counts and auxiliary measurements of each toy.
    pub data: Vec<f64>,
}

impl DeviceModel {
    /// The test statistic of each toy drawn at `theta`, as [`Model::toy_statistics`] computes it.
    pub fn toy_statistics(
        &self,
        model: &Model,
        theta: &[f64],
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
    ) -> Result<DeviceToys, CudaError> {
        let raw = self.raw_toys(model, theta, mu, kind, toys, false)?;
        let mut statistics: Vec<Option<f64>> = raw.statistics.into_iter().map(Some).collect();
        let mut on_cpu = 0;
        for (number, (statistic, status)) in
            (toys.first..).zip(statistics.iter_mut().zip(raw.status))
        {
            if status != Status::Converged {
                let one = ToyOptions { first: number, count: 1, ..*toys };
                let found = model.toy_statistics(theta, mu, kind, &one, &|_| {})?;
                *statistic = found.into_iter().next().flatten();
                on_cpu += 1;
            }
        }
        Ok(DeviceToys { statistics, on_cpu })
    }

    /// The same without the CPU's help.
    pub fn raw_toys(
        &self,
        model: &Model,
        theta: &[f64],
        mu: f64,
        kind: TestKind,
        toys: &ToyOptions,
        keeps_data: bool,
    ) -> Result<RawToys, CudaError> {
        let device = &self.device;
        let rows = usize::try_from(toys.count).unwrap_or(usize::MAX);
        let expected =
            model.expected_data(theta).map_err(histfactory::inference::InferenceError::from)?;
        let length = if keeps_data { expected.len() } else { 0 };
        let (expected, start) = (Buffer::of(device, &expected)?, Buffer::of(device, theta)?);
        let statistic = Buffer::new(device, 8 * rows)?;
        let mu_hat = Buffer::new(device, 8 * rows)?;
        let data = Buffer::new(device, 8 * rows * length)?;
        let status = Buffer::new(device, 4 * rows)?;
        let [mut lower, mut upper] = self.plan.poi_bounds();
        if kind == TestKind::QTilde {
            (lower, upper) = (lower.max(0.0), upper.max(0.0));
        }
        let call = Toys {
            expected: expected.address,
            start: start.address,
            statistic: statistic.address,
            mu_hat: mu_hat.address,
            data: data.address,
            status: status.address,
            seed: toys.seed,
            first: toys.first,
            tolerance: TOLERANCE,
            mu: if kind == TestKind::Q0 { 0.0 } else { mu },
            lower,
            upper,
            rows: int(rows),
            kind: match kind {
                TestKind::Q => 0,
                TestKind::QTilde => 1,
                TestKind::T => 2,
                TestKind::Q0 => 3,
                _ => return Err(crate::Unsupported::Quantity { what: "this statistic" }.into()),
            },
            most: MOST_STEPS,
            keeps_data: i32::from(keeps_data),
        };
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the buffers were made for these rows.
        unsafe {
            self.run(rows, call)?;
        }
        Ok(RawToys {
            statistics: statistic.read(rows)?,
            mu_hat: mu_hat.read(rows)?,
            status: status.read::<i32>(rows)?.into_iter().map(Status::new).collect(),
            data: data.read(rows * length)?,
        })
    }
}
