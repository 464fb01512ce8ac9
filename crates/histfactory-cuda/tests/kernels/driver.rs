//! Loads `driver.c` in place of the CUDA driver: the kernels' own source, run on the processor.

use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The library stays loaded: whoever asks for a library of its name gets this one.
static LIBRARY: LazyLock<libloading::Library> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("libcuda.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/driver.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    // Contractions would make results differ from those of the CPU by more than they have to.
    let done = Command::new(compiler)
        .args(["-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-soname,libcuda.so", "-o"])
        .arg(&library)
        .arg(&source)
        .args(["-lm", "-lpthread"])
        .status()
        .expect("a C compiler is there, as Rust links with it");
    assert!(done.success(), "the kernels do not compile");
    #[expect(unsafe_code, reason = "the tests' own library")]
    // SAFETY: the library was just built from this repository; its initialiser sets a few numbers.
    unsafe { libloading::Library::new(library) }.expect("the library loads")
});

/// The driver's settings are those of the process: a test that plants faults has them to itself.
static SETTINGS: RwLock<()> = RwLock::new(());

/// The driver as it is without faults.
pub(crate) fn usual() -> RwLockReadGuard<'static, ()> {
    LazyLock::force(&LIBRARY);
    SETTINGS.read().unwrap_or_else(PoisonError::into_inner)
}

/// A driver whose settings may be changed until this is dropped.
pub(crate) struct Faulty {
    _settings: RwLockWriteGuard<'static, ()>,
}

pub(crate) fn faulty() -> Faulty {
    LazyLock::force(&LIBRARY);
    Faulty { _settings: SETTINGS.write().unwrap_or_else(PoisonError::into_inner) }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        number_of(b"driver_reset");
    }
}

/// A setting of the driver, in the order of `driver.c`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(crate) enum Setting {
    Version = 0,
    Memory = 1,
    Major = 2,
    RefusesCubins = 3,
    RefusesText = 4,
    Devices = 5,
    Processors = 6,
    SharedBytes = 7,
}

impl Faulty {
    #[expect(clippy::unused_self, reason = "only its owner may change the settings")]
    pub(crate) fn set(&self, setting: Setting, value: i64) {
        #[expect(unsafe_code, reason = "a call of the tests' own library")]
        // SAFETY: the function has this type.
        unsafe {
            let set: libloading::Symbol<'_, unsafe extern "C" fn(i32, i64)> =
                LIBRARY.get(b"driver_set").expect("the function is there");
            set(setting as i32, value);
        }
    }
}

/// The memory of the device that is in use, in bytes.
pub(crate) fn used() -> i64 {
    number_of(b"driver_used")
}

fn number_of(name: &[u8]) -> i64 {
    #[expect(unsafe_code, reason = "a call of the tests' own library")]
    // SAFETY: the functions take nothing, and the result of one without any is not used.
    unsafe {
        let function: libloading::Symbol<'_, unsafe extern "C" fn() -> i64> =
            LIBRARY.get(name).expect("the function is there");
        function()
    }
}
