//! The machine in one line, with its GPUs.

use std::collections::BTreeMap;

use firstlight_schema::machine::Machine;
use firstlight_schema::run::RunDocument;

use crate::words::format::bytes;

/// `2 cores, AMD EPYC, 25.3 GB, NVIDIA H200 (driver 570.86), Linux 6.18`.
pub(crate) fn machine(document: &RunDocument) -> String {
    hardware(&document.machine, gpus(document))
}

/// The same without versions, for one line of a terminal.
pub(crate) fn brief(document: &RunDocument) -> String {
    let machine = &document.machine;
    let mut parts = Vec::new();
    parts.extend(machine.cores.map(|cores| format!("{cores} cores")));
    parts.push(cpu(machine));
    parts.extend(machine.memory_bytes.map(bytes));
    parts.extend(kinds(document, |name, _| name.to_owned()));
    parts.join(", ")
}

/// The same of a machine whose GPUs are already in words.
pub(crate) fn hardware(machine: &Machine, gpus: Option<String>) -> String {
    let mut parts = Vec::new();
    parts.extend(machine.cores.map(|cores| format!("{cores} cores")));
    parts.push(cpu(machine));
    parts.extend(machine.memory_bytes.map(bytes));
    parts.extend(gpus);
    parts.extend(machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
    parts.join(", ")
}

/// The processor's name without trademark signs.
pub fn cpu(machine: &Machine) -> String {
    let name = machine.cpu.as_deref().unwrap_or("unknown processor");
    name.replace("(R)", "").replace("(TM)", "")
}

/// Each kind of device with its number and driver; CUDA's version if a package contains it.
pub fn gpus(document: &RunDocument) -> Option<String> {
    let cuda = cuda(document).map(|version| format!(", CUDA {version}")).unwrap_or_default();
    kinds(document, |name, driver| match driver {
        Some(driver) => format!("{name} (driver {driver}{cuda})"),
        None => name.to_owned(),
    })
}

/// Each kind of device with its number.
fn kinds(
    document: &RunDocument,
    describe: impl Fn(&str, Option<&str>) -> String,
) -> Option<String> {
    let gpus = document.before.gpus.as_ref().filter(|gpus| !gpus.is_empty())?;
    let mut kinds: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    for gpu in gpus {
        *kinds.entry((&gpu.name, gpu.driver.as_deref())).or_default() += 1;
    }
    let words = kinds.iter().map(|((name, driver), n)| {
        let many = if *n > 1 { format!("{n} × ") } else { String::new() };
        format!("{many}{}", describe(name, *driver))
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

/// From the packages of the CUDA runtime, which frameworks install as dependencies.
fn cuda(document: &RunDocument) -> Option<&str> {
    let runtime = |name: &str| name.starts_with("nvidia-cuda-runtime");
    let packages = document.environment.packages.iter();
    packages.filter(|(name, _)| runtime(name)).map(|(_, version)| version.as_str()).next()
}
