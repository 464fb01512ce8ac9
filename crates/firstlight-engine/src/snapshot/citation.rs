//! How a snapshot is cited: `CITATION.cff` and `.zenodo.json`.

use firstlight_schema::machine_state::GpuState;
use firstlight_schema::snapshot::Origin;
use serde_json::json;

use super::sizes::Sizes;

/// The author stays a placeholder; the publisher fills it in.
const AUTHORS: &str = "the people who made this measurement";

fn title(origin: &Origin) -> String {
    format!("Measurements of the suite {} with firstlight", origin.suite)
}

fn described(origin: &Origin, sizes: &Sizes) -> String {
    let cpu = origin.machine.cpu.as_deref().unwrap_or("an unknown processor");
    let gpus = gpus(origin.before.gpus.as_deref().unwrap_or_default(), cuda(origin));
    let sizes = sizes.words();
    format!(
        "Raw readings, results and conditions of the benchmark suite {} (files {}) on {cpu}{gpus}{sizes}, \
         measured by firstlight {}. `firstlight verify` recomputes every number.",
        origin.suite,
        origin.suite_digest.get(..12).unwrap_or(&origin.suite_digest),
        origin.firstlight.build.version,
    )
}

/// From the packages of CUDA's run time, which frameworks install beside themselves.
fn cuda(origin: &Origin) -> Option<&str> {
    let mut packages = origin.environment.packages.iter();
    let (_, version) = packages.find(|(name, _)| name.starts_with("nvidia-cuda-runtime"))?;
    Some(version)
}

/// ` with NVIDIA H200 (driver 580.159.04, CUDA 12.9.79)`; nothing without a GPU. The same kind is named
/// once.
fn gpus(all: &[GpuState], cuda: Option<&str>) -> String {
    let cuda = cuda.map(|version| format!(", CUDA {version}")).unwrap_or_default();
    let mut kinds: Vec<String> = all
        .iter()
        .map(|gpu| match &gpu.driver {
            Some(driver) => format!("{} (driver {driver}{cuda})", gpu.name),
            None => gpu.name.clone(),
        })
        .collect();
    kinds.dedup();
    if kinds.is_empty() { String::new() } else { format!(" with {}", kinds.join(" and ")) }
}

fn day(origin: &Origin) -> &str {
    origin.created.get(..10).unwrap_or(&origin.created)
}

/// A JSON string is a YAML string too.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

pub(super) fn cff(origin: &Origin, sizes: &Sizes) -> String {
    format!(
        "cff-version: 1.2.0\nmessage: {}\ntype: dataset\ntitle: {}\nabstract: {}\nauthors:\n  \
         - name: {}\ndate-released: {}\nkeywords:\n  - benchmark\n  - firstlight\n",
        quoted("If you use these measurements, please cite them as below."),
        quoted(&title(origin)),
        quoted(&described(origin, sizes)),
        quoted(AUTHORS),
        quoted(day(origin)),
    )
}

pub(super) fn zenodo(origin: &Origin, sizes: &Sizes) -> String {
    let document = json!({
        "upload_type": "dataset",
        "title": title(origin),
        "description": described(origin, sizes),
        "creators": [{ "name": AUTHORS }],
        "publication_date": day(origin),
        "keywords": ["benchmark", "firstlight"],
    });
    serde_json::to_string_pretty(&document).expect("a document is JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::GpuState;
    use serde_json::json;

    use super::gpus;

    #[test]
    fn a_citation_names_each_kind_of_gpu_once_with_driver_and_cuda() {
        let gpu = |index: u32| -> GpuState {
            serde_json::from_value(json!({
                "index": index, "name": "NVIDIA H200", "driver": "580.159.04",
                "utilisation-percent": null, "temperature-celsius": null, "power-watts": null,
                "clock-mhz": null, "memory-clock-mhz": null, "clock-limits": null,
                "persistence": null, "processes": null,
            }))
            .unwrap()
        };
        let both = [gpu(0), gpu(1)];
        assert_eq!(gpus(&both, None), " with NVIDIA H200 (driver 580.159.04)");
        let known = " with NVIDIA H200 (driver 580.159.04, CUDA 12.9.79)";
        assert_eq!(gpus(&both, Some("12.9.79")), known);
        assert_eq!(gpus(&[], None), "");
    }
}
