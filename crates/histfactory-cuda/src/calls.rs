//! The arguments of the kernels, as they declare them. Pointers are addresses on the device.

use crate::plan::Header;

/// A plan with the addresses of its arrays.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanArgument {
    pub(crate) ints: u64,
    pub(crate) reals: u64,
    pub(crate) header: Header,
}

/// The memory of the rows that run at the same time.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) hot: u64,
    pub(crate) cold: u64,
    pub(crate) hot_size: i32,
    pub(crate) cold_size: i32,
    pub(crate) hot_shared: i32,
    pub(crate) cold_shared: i32,
    pub(crate) plan_shared: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evaluate {
    pub(crate) points: u64,
    pub(crate) data: u64,
    pub(crate) nll: u64,
    pub(crate) gradient: u64,
    pub(crate) rows: i32,
    pub(crate) data_stride: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FitRows {
    pub(crate) start: u64,
    pub(crate) data: u64,
    pub(crate) theta: u64,
    pub(crate) nll: u64,
    pub(crate) kkt: u64,
    pub(crate) status: u64,
    pub(crate) steps: u64,
    pub(crate) tolerance: f64,
    pub(crate) held: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) rows: i32,
    pub(crate) start_stride: i32,
    pub(crate) data_stride: i32,
    pub(crate) holds: i32,
    pub(crate) most: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Toys {
    pub(crate) expected: u64,
    pub(crate) start: u64,
    pub(crate) statistic: u64,
    pub(crate) mu_hat: u64,
    pub(crate) data: u64,
    pub(crate) status: u64,
    pub(crate) seed: u64,
    pub(crate) first: u64,
    pub(crate) tolerance: f64,
    pub(crate) mu: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) rows: i32,
    pub(crate) kind: i32,
    pub(crate) most: i32,
    pub(crate) keeps_data: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) inputs: u64,
    pub(crate) cell: u64,
    pub(crate) value: u64,
    pub(crate) slopes: u64,
    pub(crate) status: u64,
    pub(crate) tolerance: f64,
    pub(crate) mu: f64,
    pub(crate) smooth: f64,
    pub(crate) rows: i32,
    pub(crate) count: i32,
    pub(crate) riding: i32,
    pub(crate) takes_root: i32,
    pub(crate) most: i32,
}

/// The rows of a task.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Rows {
    pub(crate) evaluate: Evaluate,
    pub(crate) fit: FitRows,
    pub(crate) toys: Toys,
    pub(crate) loss: Loss,
}

/// What to do with which rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) task: i32,
    pub(crate) rows: Rows,
}

impl From<Evaluate> for Call {
    fn from(evaluate: Evaluate) -> Self {
        Self { task: 0, rows: Rows { evaluate } }
    }
}

impl From<FitRows> for Call {
    fn from(fit: FitRows) -> Self {
        Self { task: 1, rows: Rows { fit } }
    }
}

impl From<Toys> for Call {
    fn from(toys: Toys) -> Self {
        Self { task: 2, rows: Rows { toys } }
    }
}

impl From<Loss> for Call {
    fn from(loss: Loss) -> Self {
        Self { task: 3, rows: Rows { loss } }
    }
}
