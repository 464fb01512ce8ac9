//! A model on a GPU, and batches of rows that are evaluated and fitted there.

use std::ffi::c_void;
use std::sync::Arc;

use histfactory::{Data, Model};

use crate::CudaError;
use crate::calls::{Call, Evaluate, FitRows, Memory, PlanArgument};
use crate::driver::{Buffer, Device, Stream};
use crate::plan::{Plan, RowSize, int, rows_of};

/// The projected gradient below which a fit has converged, as on the CPU.
pub(crate) const TOLERANCE: f64 = 1e-9;
/// The most steps of a fit.
pub(crate) const MOST_STEPS: i32 = 100;
/// A model with many numbers takes more threads for a row.
const THREADS: [u32; 3] = [64, 256, 512];
/// Models whose rows need less than this keep them in shared memory as a whole.
const SMALL: usize = 48 * 1_024;
/// Shared memory that the driver keeps in each block, in bytes.
const RESERVED: usize = 1_024;

/// The end of a row, as the kernels report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    Converged,
    /// No step lowers −log L any more.
    Stalled,
    /// Not converged after all allowed steps.
    Exhausted,
    /// −log L has no value at the start.
    NoStart,
    /// The information of a step is not positive.
    Singular,
    /// Another minimum is lower, so the CPU searches for the lowest.
    Doubtful,
}

impl Status {
    pub fn new(code: i32) -> Self {
        match code {
            0 => Self::Converged,
            1 => Self::Stalled,
            2 => Self::Exhausted,
            3 => Self::NoStart,
            4 => Self::Singular,
            _ => Self::Doubtful,
        }
    }

    /// The reason why a row has no result.
    pub fn complaint(self) -> Option<&'static str> {
        match self {
            Self::Converged => None,
            Self::Stalled => Some("no step lowers the likelihood any more"),
            Self::Exhausted => Some("the fit did not converge"),
            Self::NoStart => Some("the likelihood has no value at the start of the fit"),
            Self::Singular => Some("the information of a step is not positive"),
            Self::Doubtful => Some("several minima: the CPU finds the lowest"),
        }
    }
}

/// A fit on the GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFit {
    pub theta: Vec<f64>,
    pub nll: f64,
    /// The largest projected gradient.
    pub kkt: f64,
    pub status: Status,
    pub steps: i32,
}

/// A model whose arrays lie on a GPU.
#[derive(Debug)]
pub struct DeviceModel {
    pub(crate) device: Arc<Device>,
    pub(crate) plan: Plan,
    ints: Buffer,
    reals: Buffer,
    size: RowSize,
    shared: Shared,
    threads: u32,
    /// The most rows that run at the same time.
    most_blocks: usize,
}

/// What lies in shared memory, and its size.
#[derive(Debug, Clone, Copy)]
struct Shared {
    hot: bool,
    cold: bool,
    plan: bool,
    bytes: usize,
}

impl Shared {
    fn new(plan: &Plan, size: RowSize, room: usize) -> Self {
        let hot = 8 * size.hot;
        let cold = hot + 8 * size.cold;
        let all = cold + 8 * plan.reals.len() + 4 * plan.ints.len();
        let fits = |bytes: usize, most: usize| bytes + RESERVED <= room.min(most);
        match [fits(hot, usize::MAX), fits(cold, SMALL), fits(all, SMALL)] {
            [false, ..] => Self { hot: false, cold: false, plan: false, bytes: 0 },
            [true, false, _] => Self { hot: true, cold: false, plan: false, bytes: hot },
            [true, true, false] => Self { hot: true, cold: true, plan: false, bytes: cold },
            [true, true, true] => Self { hot: true, cold: true, plan: true, bytes: all },
        }
    }
}

/// Memory that the rows of a call need while it runs.
#[derive(Debug, Clone, Copy)]
pub struct Scratch {
    /// The address on the GPU.
    pub address: u64,
    /// The number of rows that run at the same time.
    pub blocks: usize,
}

impl DeviceModel {
    pub fn new(device: &Arc<Device>, model: &Model) -> Result<Self, CudaError> {
        let plan = Plan::new(model)?;
        let ints = Buffer::of(device, &plan.ints)?;
        let reals = Buffer::of(device, &plan.reals)?;
        let size = plan.row_size();
        let shared = Shared::new(&plan, size, device.shared);
        let work = plan.ints.len();
        let threads = THREADS[usize::from(work > 2_000) + usize::from(work > 20_000)];
        let most_blocks = device.blocks(threads, shared.bytes)?.max(1) * device.processors;
        let device = Arc::clone(device);
        Ok(Self { device, plan, ints, reals, size, shared, threads, most_blocks })
    }

    /// Uses another number of threads for a row.
    pub fn with_threads(mut self, threads: u32) -> Result<Self, CudaError> {
        self.threads = threads;
        self.most_blocks =
            self.device.blocks(threads, self.shared.bytes)?.max(1) * self.device.processors;
        Ok(self)
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The number of rows of a call that run at the same time.
    pub fn blocks(&self, rows: usize) -> usize {
        rows.min(self.most_blocks)
    }

    /// The memory that so many rows need while they run, in bytes.
    pub fn scratch_bytes(&self, blocks: usize) -> usize {
        8 * blocks * (self.size.cold + if self.shared.hot { 0 } else { self.size.hot })
    }

    /// Allocates memory for rows. With little memory left, fewer rows run at the same time.
    fn scratch(&self, rows: usize) -> Result<(Buffer, Scratch), CudaError> {
        let mut blocks = self.blocks(rows);
        loop {
            match Buffer::new(&self.device, self.scratch_bytes(blocks)) {
                Ok(buffer) => {
                    let scratch = Scratch { address: buffer.address, blocks };
                    return Ok((buffer, scratch));
                }
                Err(CudaError::Memory { .. }) if blocks > 1 => blocks /= 2,
                Err(CudaError::Memory { bytes, .. }) => {
                    return Err(CudaError::Memory { bytes, rows });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts a kernel on rows with memory of its own and waits for its end.
    ///
    /// # Safety
    ///
    /// `call` must be the argument that the kernel declares, with addresses of memory for all its rows.
    #[expect(unsafe_code, reason = "a call of the driver")]
    pub(crate) unsafe fn run(&self, rows: usize, call: impl Into<Call>) -> Result<(), CudaError> {
        if rows == 0 {
            return Ok(());
        }
        let (_memory, scratch) = self.scratch(rows)?;
        // SAFETY: see above; the scratch memory lives until the kernel has ended.
        unsafe { self.start(rows, Stream::at(0), call, scratch) }?;
        self.device.synchronize()
    }

    /// Starts a kernel on rows and does not wait for it.
    ///
    /// # Safety
    ///
    /// `call` must be the argument that the kernel declares, with addresses of memory for all its rows, and `scratch`
    /// memory of `scratch_bytes` for its blocks. All of it stays allocated until the kernel has ended.
    #[expect(unsafe_code, reason = "a call of the driver")]
    pub(crate) unsafe fn start(
        &self,
        rows: usize,
        stream: Stream,
        call: impl Into<Call>,
        scratch: Scratch,
    ) -> Result<(), CudaError> {
        if rows == 0 {
            return Ok(());
        }
        self.device.enter()?;
        let (ints, reals) = (self.ints.address, self.reals.address);
        let mut plan = PlanArgument { ints, reals, header: self.plan.header };
        let hot = if self.shared.hot { 0 } else { self.size.hot };
        let mut memory = Memory {
            hot: scratch.address,
            cold: scratch.address + (8 * hot * scratch.blocks) as u64,
            hot_size: int(self.size.hot),
            cold_size: int(self.size.cold),
            hot_shared: i32::from(self.shared.hot),
            cold_shared: i32::from(self.shared.cold),
            plan_shared: i32::from(self.shared.plan),
        };
        let mut call = call.into();
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut plan).cast(), (&raw mut memory).cast(), (&raw mut call).cast()];
        let (grid, shared) = (rows.min(scratch.blocks), self.shared.bytes);
        // SAFETY: see above; the plan and the memory are those that every kernel declares.
        unsafe { self.device.launch(grid, self.threads, shared, stream, &mut arguments) }
    }

    /// −log L and its gradients at points, each with its data.
    pub fn nll_and_gradient(
        &self,
        points: &[f64],
        data: &[Data],
    ) -> Result<(Vec<f64>, Vec<f64>), CudaError> {
        let rows = data.len();
        let at = Buffer::of(&self.device, points)?;
        let given = Buffer::of(&self.device, &rows_of(data))?;
        let nll = Buffer::new(&self.device, 8 * rows)?;
        let gradient = Buffer::new(&self.device, 8 * points.len())?;
        let call = Evaluate {
            points: at.address,
            data: given.address,
            nll: nll.address,
            gradient: gradient.address,
            rows: int(rows),
            data_stride: int(self.plan.data_length()),
        };
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the buffers were made for these rows.
        unsafe {
            self.run(rows, call)?;
        }
        Ok((nll.read(rows)?, gradient.read(points.len())?))
    }

    /// Descends to a minimum for each data set from `start`, with the parameter of interest at a value if one is given.
    pub fn descend(
        &self,
        start: &[f64],
        data: &[Data],
        held: Option<f64>,
    ) -> Result<Vec<DeviceFit>, CudaError> {
        let (rows, count) = (data.len(), self.plan.parameters());
        let start = Buffer::of(&self.device, start)?;
        let given = Buffer::of(&self.device, &rows_of(data))?;
        let theta = Buffer::new(&self.device, 8 * rows * count)?;
        let numbers = [(); 2].map(|()| Buffer::new(&self.device, 8 * rows));
        let codes = [(); 2].map(|()| Buffer::new(&self.device, 4 * rows));
        let ([nll, kkt], [status, steps]) = (numbers, codes);
        let (nll, kkt, status, steps) = (nll?, kkt?, status?, steps?);
        let [lower, upper] = self.plan.poi_bounds();
        let call = FitRows {
            start: start.address,
            data: given.address,
            theta: theta.address,
            nll: nll.address,
            kkt: kkt.address,
            status: status.address,
            steps: steps.address,
            tolerance: TOLERANCE,
            held: held.unwrap_or(0.0),
            lower,
            upper,
            rows: int(rows),
            start_stride: 0,
            data_stride: int(self.plan.data_length()),
            holds: i32::from(held.is_some()),
            most: MOST_STEPS,
        };
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the buffers were made for these rows.
        unsafe {
            self.run(rows, call)?;
        }
        let theta = theta.read::<f64>(rows * count)?;
        let (nll, kkt) = (nll.read::<f64>(rows)?, kkt.read::<f64>(rows)?);
        let (status, steps) = (status.read::<i32>(rows)?, steps.read::<i32>(rows)?);
        let fit = |row: usize| DeviceFit {
            theta: theta[row * count..(row + 1) * count].to_vec(),
            nll: nll[row],
            kkt: kkt[row],
            status: Status::new(status[row]),
            steps: steps[row],
        };
        Ok((0..rows).map(fit).collect())
    }
}
