//! Losses of rows of yields, from and to memory of the GPU.

use histfactory::inference::Dataset;
use histfactory::objective::{Objective, Quantity};

use crate::batch::{DeviceModel, MOST_STEPS, Scratch, Status, TOLERANCE};
use crate::calls::Loss;
use crate::driver::{Buffer, Device, Stream};
use crate::plan::int;
use crate::{CudaError, Unsupported};
use std::sync::Arc;

/// An objective that the GPU evaluates: q₀ or the significance on expected data, as a function of nominal yields.
#[derive(Debug)]
pub struct DeviceLoss {
    model: DeviceModel,
    cell: Buffer,
    count: usize,
    riding: bool,
    mu: f64,
    smooth: Option<f64>,
}

/// Rows of an objective: addresses on the GPU, of `rows` values, `rows` times the number of inputs, and `rows` codes.
#[derive(Debug, Clone, Copy)]
pub struct LossRows {
    pub inputs: u64,
    pub value: u64,
    pub slopes: u64,
    /// 32-bit codes; see [`Status::new`].
    pub status: u64,
    pub rows: usize,
    pub scratch: Scratch,
}

/// Results of rows in memory of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct LossValues {
    /// NaN for rows that did not converge.
    pub values: Vec<f64>,
    /// Row by row; zero for rows that did not converge.
    pub slopes: Vec<f64>,
    pub status: Vec<Status>,
}

impl DeviceLoss {
    pub fn new(device: &Arc<Device>, objective: &Objective) -> Result<Self, CudaError> {
        let unsupported = |what| Err(Unsupported::Quantity { what }.into());
        let (mu, smooth) = match objective.quantity() {
            Quantity::Q0 { dataset: Dataset::Asimov { mu } } => (mu, None),
            Quantity::Significance { dataset: Dataset::Asimov { mu }, smooth } => {
                (mu, Some(smooth))
            }
            Quantity::Q0 { .. } | Quantity::Significance { .. } => {
                return unsupported("a significance of data that were observed");
            }
            _ => return unsupported("this objective"),
        };
        let Some(inputs) = objective.nominal_inputs() else {
            return unsupported("an objective of other inputs than nominal yields");
        };
        let model = DeviceModel::new(device, objective.model())?;
        if model.plan.irregular_widths {
            return unsupported("an objective of a model with widths of several kinds in one bin");
        }
        let cells: Vec<i32> = inputs.cells.iter().map(|cell| int(*cell)).collect();
        let cell = Buffer::of(device, &cells)?;
        let (count, riding) = (cells.len(), inputs.templates_ride);
        Ok(Self { model, cell, count, riding, mu, smooth })
    }

    /// Uses another number of threads for a row.
    pub fn with_threads(mut self, threads: u32) -> Result<Self, CudaError> {
        self.model = self.model.with_threads(threads)?;
        Ok(self)
    }

    /// The number of inputs of a row.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn device(&self) -> &Arc<Device> {
        self.model.device()
    }

    /// Starts the evaluation of rows on a stream, and does not wait for it.
    ///
    /// # Safety
    ///
    /// The addresses must be those of memory of this GPU for so many rows, which stays allocated until the kernel has
    /// ended.
    #[expect(unsafe_code, reason = "a call of the driver")]
    pub unsafe fn start(&self, rows: LossRows, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: see above.
        unsafe { self.model.start(rows.rows, stream, self.call(rows), rows.scratch) }
    }

    fn call(&self, rows: LossRows) -> Loss {
        Loss {
            inputs: rows.inputs,
            cell: self.cell.address,
            value: rows.value,
            slopes: rows.slopes,
            status: rows.status,
            tolerance: TOLERANCE,
            mu: self.mu,
            smooth: self.smooth.unwrap_or(0.0),
            rows: int(rows.rows),
            count: int(self.count),
            riding: i32::from(self.riding),
            takes_root: i32::from(self.smooth.is_some()),
            most: MOST_STEPS,
        }
    }

    /// Copies rows of inputs to the GPU.
    pub fn upload(&self, inputs: &[f64]) -> Result<Buffer, CudaError> {
        Buffer::of(self.device(), inputs)
    }

    /// The model on the GPU.
    pub fn model(&self) -> &DeviceModel {
        &self.model
    }

    /// Memory for the values, slopes and codes of rows, and for their calculation.
    pub fn room(&self, rows: usize) -> Result<[Buffer; 4], CudaError> {
        let scratch = self.model.scratch_bytes(self.model.blocks(rows));
        let sizes = [8 * rows, 8 * rows * self.count, 4 * rows, scratch];
        let [value, slopes, status, scratch] = sizes.map(|bytes| Buffer::new(self.device(), bytes));
        Ok([value?, slopes?, status?, scratch?])
    }

    /// The values, slopes and states of rows in memory of the host.
    pub fn evaluate(&self, inputs: &[f64]) -> Result<LossValues, CudaError> {
        let rows = inputs.len() / self.count.max(1);
        let given = self.upload(inputs)?;
        let [value, slopes, status, scratch] = self.room(rows)?;
        let addresses = LossRows {
            inputs: given.address,
            value: value.address,
            slopes: slopes.address,
            status: status.address,
            rows,
            scratch: Scratch { address: scratch.address, blocks: self.model.blocks(rows) },
        };
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the buffers were made for these rows and live until the results have been read, which waits.
        unsafe {
            self.start(addresses, Stream::at(0))?;
        }
        Ok(LossValues {
            status: status.read::<i32>(rows)?.into_iter().map(Status::new).collect(),
            values: value.read(rows)?,
            slopes: slopes.read(inputs.len())?,
        })
    }
}
