//! Numbered functions, to which a traced program can refer.
//!
//! A number is valid as long as the Python object that reserved it exists; traced programs hold this object.
//! A compiled program owns its function itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use histfactory::objective::Objective;
use histfactory_cuda::{CudaError, Device, DeviceLoss};

/// The function that handlers call, with its copies on GPUs by their numbers.
pub(crate) struct Function {
    pub(crate) objective: Arc<Objective>,
    on_gpu: Mutex<BTreeMap<usize, Arc<DeviceLoss>>>,
}

impl Function {
    /// The function on a GPU, where it is copied once.
    pub(super) fn on_gpu(&self, ordinal: usize) -> Result<Arc<DeviceLoss>, CudaError> {
        let mut known = self.on_gpu.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loss) = known.get(&ordinal) {
            return Ok(Arc::clone(loss));
        }
        let loss = Arc::new(DeviceLoss::new(&Device::shared(ordinal)?, &self.objective)?);
        known.insert(ordinal, Arc::clone(&loss));
        Ok(loss)
    }
}

static NEXT: AtomicI64 = AtomicI64::new(1);
static KNOWN: LazyLock<Mutex<HashMap<i64, Weak<Function>>>> = LazyLock::new(Mutex::default);

/// A number for a function, released on drop.
pub(crate) struct Entry {
    pub(crate) number: i64,
    _function: Arc<Function>,
}

impl Entry {
    pub(crate) fn new(objective: Arc<Objective>) -> Self {
        let function = Arc::new(Function { objective, on_gpu: Mutex::default() });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(number, Arc::downgrade(&function));
        Self { number, _function: function }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

pub(super) fn function(number: i64) -> Option<Arc<Function>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&number)?.upgrade()
}
