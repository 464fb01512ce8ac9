//! The computation of one task of an array.

use histfactory::Workspace;
use serde_json::Value;

use crate::settings::{LimitsSettings, ModelSettings, ToysSettings};

/// The files of a job and the arguments of its tasks, without those that differ from task to task.
pub(crate) struct Job {
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) arguments: Vec<String>,
    /// The number of toys or signals, which limits the number of tasks.
    pub(super) total: u64,
}

const WORKSPACE: &str = "workspace.json";
const PATCH_SET: &str = "patchset.json";

impl Job {
    pub(crate) fn toys(settings: &ToysSettings, workspace: &Workspace) -> Self {
        let mut arguments = vec!["toys".to_owned(), WORKSPACE.to_owned()];
        arguments.extend(of_model(&settings.model));
        arguments.push(format!("--toys={}", settings.toys));
        arguments.push(format!("--seed={}", settings.seed));
        arguments.extend(settings.test_poi.map(|value| format!("--test-poi={value:?}")));
        if let Some(test) = &settings.test {
            arguments.push(format!("--test-stat={}", test.statistic));
            arguments.push(format!("--search={}", test.search_name));
        }
        Self { files: vec![(WORKSPACE, workspace.to_json())], arguments, total: settings.toys }
    }

    pub(crate) fn limits(settings: &LimitsSettings, document: &Value, set: &Value) -> Self {
        let mut arguments = vec!["limits".to_owned(), WORKSPACE.to_owned()];
        arguments.push(format!("--patchset={PATCH_SET}"));
        arguments.extend(of_model(&settings.model));
        arguments.push(format!("--level={:?}", settings.level));
        arguments.push(format!("--search={}", settings.search_name));
        arguments.extend(settings.fits.extend_bound.then(|| "--extend-bound".to_owned()));
        let files = vec![(WORKSPACE, document.to_string()), (PATCH_SET, set.to_string())];
        let total = set["patches"].as_array().map_or(0, |patches| patches.len() as u64);
        Self { files, arguments, total }
    }
}

/// The workspace is patched before it is handed over.
fn of_model(model: &ModelSettings) -> Vec<String> {
    let mut arguments = Vec::new();
    let options = &model.options;
    arguments.extend(options.measurement.as_ref().map(|name| format!("--measurement={name}")));
    arguments.extend(options.poi.as_ref().map(|name| format!("--poi={name}")));
    arguments.push(format!("--normsys={}", model.normsys));
    arguments.push(format!("--histosys={}", model.histosys));
    arguments
}
