//! The CUDA driver, found at run time: a program also works without one.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUdevice_attribute_enum as Attribute;
use cudarc::driver::{DriverError, result, sys};

use crate::CudaError;

/// Kernels by the architecture for which they were compiled.
const CUBINS: &[(u32, &[u8])] = &[
    (75, include_bytes!("../kernels/sm_75.cubin")),
    (80, include_bytes!("../kernels/sm_80.cubin")),
    (86, include_bytes!("../kernels/sm_86.cubin")),
    (90, include_bytes!("../kernels/sm_90.cubin")),
    (100, include_bytes!("../kernels/sm_100.cubin")),
    (120, include_bytes!("../kernels/sm_120.cubin")),
];

/// For architectures after those: the driver compiles it when it is loaded.
const PTX: &[u8] = include_bytes!("../kernels/compute_80.ptx");

/// The first driver that loads the cubins: that of CUDA 12.0.
const LEAST_DRIVER: i32 = 12_000;

pub(crate) fn failed(error: DriverError) -> CudaError {
    let text = |found: Result<&CStr, DriverError>| {
        found.map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
    };
    CudaError::Driver { code: text(error.error_name()), what: text(error.error_string()) }
}

/// A GPU with the kernels loaded.
#[derive(Debug)]
pub struct Device {
    ordinal: i32,
    handle: sys::CUdevice,
    context: sys::CUcontext,
    function: sys::CUfunction,
    process: u32,
    pub(crate) processors: usize,
    pub(crate) shared: usize,
    architecture: u32,
    /// Whether the driver compiled the kernels, because none was made for this architecture.
    pub was_compiled: bool,
}

#[expect(unsafe_code, reason = "contexts and functions of the driver belong to no thread")]
// SAFETY: the driver's handles may be used by every thread that makes the context its own, which `enter` does.
unsafe impl Send for Device {}
#[expect(unsafe_code, reason = "see above")]
// SAFETY: as above; nothing here changes after it was made.
unsafe impl Sync for Device {}

/// Whether this machine has a CUDA driver.
pub fn is_present() -> bool {
    #[expect(unsafe_code, reason = "loads a library of the system")]
    // SAFETY: the driver's library is loaded and nothing of it is called.
    unsafe {
        sys::is_culib_present()
    }
}

#[expect(unsafe_code, reason = "calls of the driver")]
impl Device {
    /// Opens a GPU by its number and loads the kernels.
    pub fn open(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        Self::open_with(ordinal, None)
    }

    /// The GPU with this number, opened once in a process.
    pub fn shared(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        static OPEN: Mutex<BTreeMap<usize, Arc<Device>>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.get(&ordinal) {
            device.enter()?;
            return Ok(Arc::clone(device));
        }
        let device = Self::open(ordinal)?;
        open.insert(ordinal, Arc::clone(&device));
        Ok(device)
    }

    /// Opens a GPU with another cubin of the kernels, to try a change of theirs.
    pub fn open_with(ordinal: usize, cubin: Option<&[u8]>) -> Result<Arc<Self>, CudaError> {
        if !is_present() {
            return Err(CudaError::NoDriver);
        }
        result::init().map_err(failed)?;
        let mut version = 0;
        // SAFETY: the driver writes one number.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(failed)?;
        if version < LEAST_DRIVER {
            let found = format!("{}.{}", version / 1000, version % 1000 / 10);
            return Err(CudaError::OldDriver { found, least: "12.0" });
        }
        let number = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let handle = result::device::get(number).map_err(failed)?;
        let attribute = |which| {
            // SAFETY: the device is valid.
            let value = unsafe { result::device::get_attribute(handle, which) }.map_err(failed)?;
            Ok::<_, CudaError>(usize::try_from(value).unwrap_or(0))
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let architecture = u32::try_from(10 * major + minor).unwrap_or(0);
        // SAFETY: the device is valid; the primary context is the one that PyTorch and JAX use.
        let context = unsafe { result::primary_ctx::retain(handle) }.map_err(failed)?;
        // SAFETY: the context was just retained.
        unsafe { result::ctx::set_current(context) }.map_err(failed)?;
        let (module, was_compiled) = load(architecture, cubin)?;
        // SAFETY: the module is loaded and stays so for the life of the process.
        let function =
            unsafe { result::module::get_function(module, c"hf_rows".into()) }.map_err(failed)?;
        // SAFETY: the function is valid.
        unsafe {
            result::function::set_function_attribute(
                function,
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(shared).unwrap_or(i32::MAX),
            )
        }
        .map_err(failed)?;
        let process = std::process::id();
        Ok(Arc::new(Self {
            ordinal: number,
            handle,
            context,
            function,
            process,
            processors,
            shared,
            architecture,
            was_compiled,
        }))
    }

    /// Its number.
    pub fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// Its compute capability, as in `sm_90`.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// Its name.
    pub fn name(&self) -> Result<String, CudaError> {
        result::device::get_name(self.handle).map_err(failed)
    }

    /// Waits until everything that was started has ended.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.enter()?;
        result::ctx::synchronize().map_err(failed)
    }

    /// Makes its context that of this thread.
    pub(crate) fn enter(&self) -> Result<(), CudaError> {
        if std::process::id() != self.process {
            return Err(CudaError::Forked);
        }
        // SAFETY: the context lives as long as the process.
        unsafe { result::ctx::set_current(self.context) }.map_err(failed)
    }

    /// The number of blocks that run on a processor of the GPU at the same time.
    pub(crate) fn blocks(&self, threads: u32, shared: usize) -> Result<usize, CudaError> {
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the function is valid.
        let count = unsafe {
            result::occupancy::max_active_block_per_multiprocessor(self.function, threads, shared)
        }
        .map_err(failed)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Starts a kernel on a stream.
    ///
    /// # Safety
    ///
    /// The arguments must be those that the kernel declares, with addresses of sufficient memory.
    pub(crate) unsafe fn launch(
        &self,
        grid: usize,
        threads: u32,
        shared: usize,
        stream: Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), CudaError> {
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        // SAFETY: see above.
        unsafe {
            result::launch_kernel(
                self.function,
                (short(grid), 1, 1),
                (threads, 1, 1),
                short(shared),
                stream.0,
                arguments,
            )
        }
        .map_err(failed)
    }
}

#[expect(unsafe_code, reason = "calls of the driver")]
fn load(architecture: u32, other: Option<&[u8]>) -> Result<(sys::CUmodule, bool), CudaError> {
    let same = |made: &&(u32, &[u8])| made.0 / 10 == architecture / 10 && made.0 <= architecture;
    let ours = || CUBINS.iter().rfind(same).map(|(_, cubin)| *cubin);
    if let Some(cubin) = other.or_else(ours) {
        // SAFETY: the cubin is whole.
        if let Ok(module) = unsafe { result::module::load_data(cubin.as_ptr().cast()) } {
            return Ok((module, false));
        }
    }
    let text = CString::new(PTX.strip_suffix(&[0]).unwrap_or(PTX)).expect("PTX is text");
    // SAFETY: the text ends with a zero.
    unsafe { result::module::load_data(text.as_ptr().cast()) }
        .map(|module| (module, true))
        .map_err(|_| CudaError::Architecture { architecture })
}

/// A stream of the driver; zero is the default one.
#[derive(Debug, Clone, Copy)]
pub struct Stream(pub(crate) sys::CUstream);

impl Stream {
    /// The stream with this address, as PyTorch and XLA give it.
    pub fn at(address: u64) -> Self {
        Self(address as sys::CUstream)
    }
}

/// Memory of a GPU.
#[derive(Debug)]
pub struct Buffer {
    device: Arc<Device>,
    pub(crate) address: u64,
}

#[expect(unsafe_code, reason = "calls of the driver")]
impl Buffer {
    pub fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn new(device: &Arc<Device>, bytes: usize) -> Result<Self, CudaError> {
        device.enter()?;
        // SAFETY: the size is not zero.
        let address = unsafe { result::malloc_sync(bytes.max(8)) }.map_err(|error| {
            if error.0 == sys::cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY {
                return CudaError::Memory { bytes, rows: 0 };
            }
            failed(error)
        })?;
        Ok(Self { device: Arc::clone(device), address })
    }

    pub(crate) fn of<T: Copy>(device: &Arc<Device>, values: &[T]) -> Result<Self, CudaError> {
        let buffer = Self::new(device, size_of_val(values))?;
        if !values.is_empty() {
            // SAFETY: the buffer has the size of the values.
            unsafe { result::memcpy_htod_sync(buffer.address, values) }.map_err(failed)?;
        }
        Ok(buffer)
    }

    /// Waits for the GPU and copies values back.
    pub(crate) fn read<T: Copy + Default>(&self, count: usize) -> Result<Vec<T>, CudaError> {
        self.device.enter()?;
        let mut values = vec![T::default(); count];
        if count > 0 {
            // SAFETY: callers read at most what they allocated.
            unsafe { result::memcpy_dtoh_sync(&mut values, self.address) }.map_err(failed)?;
        }
        Ok(values)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.device.enter().is_ok() {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: it was allocated here and nobody else has its address any more.
            // A context that is gone has freed its memory.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}
