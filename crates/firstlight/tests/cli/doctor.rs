//! `firstlight doctor` on the machine of the tests, and with a fake `nvidia-smi`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use firstlight_schema::health::{CheckName, CheckStatus, HealthCheck, HealthDocument};

use crate::support::{Finished, Sandbox};

/// The checks that every machine gets.
const ALWAYS: [&str; 11] = [
    "load",
    "stolen-time",
    "cpu-quota",
    "virtual-machine",
    "governor",
    "turbo",
    "throttling",
    "battery",
    "memory",
    "swap",
    "clock-source",
];

/// Runs it with only the given `nvidia-smi` on the path, if any.
fn doctor(nvidia_smi: Option<&str>, arguments: &[&str]) -> Finished {
    let sandbox = Sandbox::new();
    if let Some(script) = nvidia_smi {
        let path = sandbox.file("bin/nvidia-smi", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = sandbox.firstlight();
    command.arg("doctor").args(arguments).env("PATH", sandbox.path().join("bin"));
    let finished = Finished::new(command);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert_eq!(finished.stderr, "");
    finished
}

fn document(nvidia_smi: Option<&str>) -> HealthDocument {
    serde_json::from_str(&doctor(nvidia_smi, &["--format", "json"]).stdout).unwrap()
}

fn found(document: &HealthDocument, name: CheckName) -> &HealthCheck {
    document.checks.iter().find(|check| check.name == name).unwrap()
}

#[test]
fn the_json_is_a_document_with_the_stable_checks() {
    let document = document(None);
    assert_eq!(document.schema, HealthDocument::schema_id());
    let names: Vec<_> = document.checks.iter().map(|check| check.name.name()).collect();
    assert_eq!(names, ALWAYS);
    assert_eq!(document.state.gpus, Some(Vec::new()), "no tool, no device known");
    assert!(document.state.taken.ends_with('Z'), "{}", document.state.taken);
}

#[test]
fn the_text_names_every_check_and_ends_in_a_count() {
    let text = doctor(None, &[]).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ALWAYS {
        assert!(text.lines().any(|line| line.contains(&format!("  {name} "))), "{name}: {text}");
    }
    assert!(words.contains(&format!("of {} checks are fine", ALWAYS.len())), "{text}");
    assert!(words.contains("no NVIDIA GPU known"), "{text}");
}

#[test]
fn warnings_are_not_a_failure_and_a_busy_device_is_detected() {
    let script = r#"case "$1" in
        --query-gpu=*) echo "0, GPU-aa, NVIDIA H100, 580.1, 97, 71, 698.2, 1395, 2619, 0x04, Disabled" ;;
        *) echo "GPU-aa, 4242, 1000" ;;
    esac"#;
    let document = document(Some(script));
    let used = found(&document, CheckName::GpuUse);
    assert_eq!(used.status, CheckStatus::Warn);
    assert_eq!(used.value, "97 % busy, 1 process with 1.0 GB");
    assert_eq!(found(&document, CheckName::GpuThrottling).status, CheckStatus::Warn);
    assert_eq!(found(&document, CheckName::GpuPersistence).status, CheckStatus::Warn);
}

#[test]
fn a_tool_that_cannot_reach_its_driver_makes_the_devices_unknown() {
    let document = document(Some("echo 'NVIDIA-SMI has failed'; exit 9"));
    assert_eq!(document.state.gpus, None);
    assert_eq!(found(&document, CheckName::GpuUse).status, CheckStatus::Unknown);
}
