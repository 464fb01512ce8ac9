//! Goldens and their workspaces.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};

use histfactory::synthetic::Twin;
use histfactory::workspace::Patch;
use histfactory::{Interpolation, Model, ModelOptions, Workspace};
use serde_json::Value;

pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) json: Value,
    folder: PathBuf,
}

/// The folder with third-party workspaces, if it exists.
pub(crate) fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("HISTFACTORY_SHARED_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|ancestor| ancestor.join("shared/data"))
        .find(|folder| folder.is_dir());
    let folder = given.or(beside).filter(|folder| folder.is_dir());
    if folder.is_none() {
        skipped();
    }
    folder
}

/// `cargo xtask test` counts a test as skipped if part of its input is missing.
fn skipped() {
    use std::io::Write as _;
    let Some(record) = std::env::var_os("FIRSTLIGHT_SKIPPED") else { return };
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let file = std::fs::OpenOptions::new().create(true).append(true).open(record);
    let line = format!("histfactory: {name}: no shared/data\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the record can be written");
}

/// The goldens of the synthetic twins, which are always present, and those of `shared/data`.
pub(crate) fn goldens() -> Vec<Golden> {
    let mut found = twins();
    found.extend(others());
    found
}

fn twins() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
    let golden = |twin: Twin| Golden {
        name: twin.as_str().to_owned(),
        json: read(&folder.join(twin.as_str()).with_extension("json")),
        folder: folder.clone(),
    };
    Twin::ALL.map(golden).into()
}

fn others() -> Vec<Golden> {
    let Some(folder) = folder() else { return Vec::new() };
    let mut found: Vec<Golden> = std::fs::read_dir(folder.join("goldens"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("q0grad_fd.json"))
        .map(|path| Golden {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            json: read(&path),
            folder: folder.join("workspaces"),
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!found.is_empty());
    found
}

pub(crate) fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

impl Golden {
    pub(crate) fn workspace(&self) -> Workspace {
        let twin = Twin::ALL.into_iter().find(|twin| self.json["twin"] == twin.as_str());
        if let Some(twin) = twin {
            return twin.workspace(self.json["seed"].as_u64().unwrap());
        }
        let name = self.json["workspace"].as_str().unwrap();
        let workspace = Workspace::from_path(self.folder.join(name)).unwrap();
        match self.json["patch"].as_str() {
            None => workspace,
            Some(patch) => {
                workspace.patched(&[Patch::from_path(self.folder.join(patch)).unwrap()]).unwrap()
            }
        }
    }

    pub(crate) fn model(&self, interpolation: Interpolation) -> Model {
        let options = ModelOptions { interpolation, ..ModelOptions::default() };
        Model::new(&self.workspace(), &options).unwrap()
    }

    pub(crate) fn numbers(&self, key: &str) -> Vec<f64> {
        floats(&self.json[key])
    }

    pub(crate) fn strings(&self, key: &str) -> Vec<String> {
        serde_json::from_value(self.json[key].clone()).unwrap()
    }
}

pub(crate) fn floats(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}

pub(crate) fn relative(a: f64, b: f64) -> f64 {
    (a - b).abs() / (1.0_f64).max(a.abs().max(b.abs()))
}
