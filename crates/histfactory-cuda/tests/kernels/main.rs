//! The kernels and the calls of the driver, with a driver of the tests that needs no GPU.

mod driver;
mod faults;
mod rows;
