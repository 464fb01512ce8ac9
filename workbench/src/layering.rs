//! Checks which crates may use which, as drawn in `ARCHITECTURE.md`.

use serde_json::Value;

use xtask::shell::{Result, cargo, output};

/// A crate and the crates of ours that it may use.
const LAYERS: [(&str, &[&str]); 17] = [
    ("firstlight-schema", &[]),
    ("firstlight-analysis", &["firstlight-schema"]),
    ("firstlight-engine", &["firstlight-schema"]),
    ("firstlight-plot", &[]),
    ("firstlight-report", &["firstlight-analysis", "firstlight-plot", "firstlight-schema"]),
    ("firstlight-slurm", &[]),
    ("firstlight-trace", &["firstlight-analysis", "firstlight-schema"]),
    ("firstlight-runner", &["firstlight-schema"]),
    ("firstlight-replay", &["firstlight-schema"]),
    (
        "firstlight",
        &[
            "firstlight-analysis",
            "firstlight-engine",
            "firstlight-report",
            "firstlight-schema",
            "firstlight-slurm",
            "firstlight-trace",
        ],
    ),
    ("histfactory", &[]),
    ("histfactory-cli", &["firstlight-plot", "firstlight-slurm", "histfactory"]),
    ("histfactory-cuda", &["histfactory"]),
    ("histfactory-python", &["histfactory", "histfactory-cuda"]),
    ("histfactory-runner", &["firstlight-runner", "histfactory"]),
    (
        "workbench",
        &[
            "firstlight",
            "firstlight-analysis",
            "firstlight-engine",
            "firstlight-plot",
            "firstlight-report",
            "firstlight-schema",
            "histfactory-cli",
            "xtask",
        ],
    ),
    ("xtask", &[]),
];

pub(crate) fn check() -> Result {
    println!("── layers");
    for package in packages()? {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = LAYERS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("layers: `{name}` has no place in workbench/src/layering.rs"));
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let ours = LAYERS.iter().any(|(known, _)| *known == used);
            if ours && dependency["kind"].is_null() && !allowed.contains(&used) {
                return Err(format!("layers: `{name}` may not use `{used}`"));
            }
        }
    }
    Ok(())
}

/// Our own packages, as cargo describes them.
fn packages() -> Result<Vec<Value>> {
    let json = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}
