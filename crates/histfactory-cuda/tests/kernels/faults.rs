//! Planted faults of the driver: none there, too old, another architecture, no memory left, a forked process.

use histfactory::inference::TestKind;
use histfactory::interpolation::HistosysCode;
use histfactory::synthetic::Twin;
use histfactory::toys::ToyOptions;
use histfactory::{Model, ModelOptions};
use histfactory_cuda::{CudaError, Device, DeviceModel, Unsupported};

use crate::driver::{Setting, faulty, used, usual};

fn model() -> Model {
    Model::new(&Twin::Small.workspace(1), &ModelOptions::default()).expect("valid")
}

#[test]
fn an_old_driver_is_named_with_the_version_that_is_needed() {
    let driver = faulty();
    driver.set(Setting::Version, 11_040);
    let error = Device::open(0).expect_err("the driver is too old");
    assert_eq!(
        error.to_string(),
        "the CUDA driver is too old: version 11.4, at least 12.0 is needed"
    );
}

#[test]
fn a_driver_without_a_gpu_gives_its_own_reason() {
    let driver = faulty();
    driver.set(Setting::Devices, 0);
    let error = Device::open(0).expect_err("there is no device");
    let text = error.to_string();
    assert!(
        text.contains("CUDA_ERROR_NO_DEVICE") && text.contains("no CUDA-capable device"),
        "{text}"
    );
    driver.set(Setting::Devices, 1);
    let error = Device::open(3).expect_err("there is no fourth device");
    assert!(error.to_string().contains("CUDA_ERROR_INVALID_DEVICE"), "{error}");
}

#[test]
fn a_newer_architecture_gets_the_text_that_the_driver_compiles() {
    let driver = faulty();
    driver.set(Setting::Major, 14);
    assert!(Device::open(0).expect("the text is compiled").was_compiled);
    driver.set(Setting::RefusesText, 1);
    let error = Device::open(0).expect_err("nothing loads");
    assert_eq!(error, CudaError::Architecture { architecture: 140 });
}

#[test]
fn a_cubin_that_the_driver_refuses_is_replaced_by_the_text() {
    let driver = faulty();
    assert!(!Device::open(0).expect("the cubin loads").was_compiled);
    driver.set(Setting::RefusesCubins, 1);
    assert!(Device::open(0).expect("the text is compiled").was_compiled);
}

#[test]
fn with_little_memory_fewer_rows_run_at_once_and_none_is_lost() {
    let driver = faulty();
    driver.set(Setting::Processors, 64);
    let model =
        Model::new(&Twin::Combination.workspace(1), &ModelOptions::default()).expect("valid");
    let on_device = DeviceModel::new(&Device::open(0).expect("a device"), &model).expect("it fits");
    let theta = model.init().to_vec();
    let toys = ToyOptions { first: 0, count: 12, seed: 2 };
    let whole =
        on_device.raw_toys(&model, &theta, 0.0, TestKind::Q0, &toys, false).expect("it runs");
    let before = used();
    // Enough for the results and three rows, not for twelve.
    let least = i64::try_from(on_device.scratch_bytes(3)).expect("a size");
    driver.set(Setting::Memory, before + least + 8_192);
    let few = on_device.raw_toys(&model, &theta, 0.0, TestKind::Q0, &toys, false).expect("it runs");
    assert_eq!(whole, few);
    assert_eq!(used(), before, "all memory is free again");
    driver.set(Setting::Memory, before + 8_192);
    let error = on_device.raw_toys(&model, &theta, 0.0, TestKind::Q0, &toys, false);
    let error = error.expect_err("there is no memory for a single row");
    assert!(matches!(error, CudaError::Memory { rows: 12, .. }), "{error}");
    assert!(error.to_string().contains("bytes left for 12 rows"), "{error}");
    assert_eq!(used(), before, "all memory is free again");
}

#[test]
fn a_model_that_is_too_large_for_shared_memory_gives_the_same_results() {
    let driver = faulty();
    let model =
        Model::new(&Twin::Combination.workspace(1), &ModelOptions::default()).expect("valid");
    let theta = model.init().to_vec();
    let toys = ToyOptions { first: 0, count: 6, seed: 2 };
    let results = [232_448, 49_152].map(|bytes| {
        driver.set(Setting::SharedBytes, bytes);
        let device = Device::open(0).expect("a device");
        let on_device = DeviceModel::new(&device, &model).expect("it fits");
        on_device.raw_toys(&model, &theta, 0.0, TestKind::Q0, &toys, false).expect("it runs")
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn interpolations_with_kinks_are_left_to_the_cpu() {
    let _usual = usual();
    let mut options = ModelOptions::default();
    options.interpolation.histosys = HistosysCode::Code0;
    let model = Model::new(&Twin::Small.workspace(1), &options).expect("valid");
    let device = Device::open(0).expect("a device");
    let error = DeviceModel::new(&device, &model).expect_err("kinks are not supported");
    assert_eq!(error, Unsupported::Interpolation { modifier: "histosys" }.into());
}

#[test]
fn all_memory_of_a_model_is_freed_with_it() {
    let _alone = faulty();
    let before = used();
    let device = Device::open(0).expect("a device");
    let model = DeviceModel::new(&device, &model()).expect("it fits");
    assert!(used() > before);
    drop(model);
    assert_eq!(used(), before);
}
