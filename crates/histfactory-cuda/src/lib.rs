//! Batches of HistFactory fits on NVIDIA GPUs.
//!
//! A block of threads does one row: a data set, a toy, or a set of yields. Its whole Newton iteration runs on the GPU
//! without waiting for the host. Kernels are compiled ahead of time; the driver is found at run time, so that the same
//! program also works without a GPU. Whatever the kernels do not bring to a minimum is left to the CPU, with a reason.

mod batch;
mod calls;
mod driver;
mod error;
mod loss;
mod plan;
mod toys;

pub use batch::{DeviceFit, DeviceModel, Scratch, Status};
pub use driver::{Buffer, Device, Stream, is_present};
pub use error::{CudaError, Unsupported};
pub use loss::{DeviceLoss, LossRows, LossValues};
pub use plan::Plan;
pub use toys::{DeviceToys, RawToys};
