//! Checks the licences of all dependencies: with `cargo deny` if it is installed, and with the same list
//! otherwise.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use xtask::shell::{Result, cargo, exists, output, root, step};

pub(crate) fn check() -> Result {
    advisories()?;
    if exists("cargo-deny") {
        let checks = ["deny", "--offline", "check", "licenses", "bans", "sources"];
        return step("licences (cargo deny)", cargo().args(checks));
    }
    println!("── licences (deny.toml's list; install cargo-deny for the full check)");
    let allowed = allowed()?;
    let json = output(cargo().args(["metadata", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let licence = package["license"].as_str().unwrap_or("none");
        if !is_allowed(licence, &allowed) {
            return Err(format!("licences: {} is under {licence}", package["name"]));
        }
    }
    Ok(())
}

/// Known vulnerabilities, if the database of advisories is available. If it is not, the output says so.
fn advisories() -> Result {
    if !exists("cargo-deny") {
        println!("── advisories: NOT CHECKED, cargo-deny is not installed");
        return Ok(());
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let cached = home.is_some_and(|home| {
        ["advisory-dbs", "advisory-db"].iter().any(|name| home.join(name).is_dir())
    });
    if !cached {
        println!("── advisories: NOT CHECKED, there is no database; `cargo deny fetch` gets one");
        return Ok(());
    }
    step("advisories", cargo().args(["deny", "--offline", "check", "advisories"]))
}

/// The `allow` list of `deny.toml`, so that there is only one list.
fn allowed() -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(root().join("deny.toml")).map_err(|error| error.to_string())?;
    let list = text.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = list.ok_or("deny.toml has no allow list")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// Whether the allowed licences satisfy an SPDX expression.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let met = |licence: &str| allowed.contains(licence.trim());
    // AND binds closer than OR; ignoring the parentheses can only reject too much.
    expression.split(" OR ").any(|choice| choice.split(" AND ").all(met))
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn an_expression_is_met_by_any_of_its_choices() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned).into();
        assert!(is_allowed("MIT OR Apache-2.0", &allowed));
        assert!(is_allowed("Apache-2.0 / GPL-3.0", &allowed));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
        assert!(!is_allowed("GPL-3.0", &allowed));
        assert!(!is_allowed("MIT AND GPL-3.0", &allowed));
        assert!(!is_allowed("none", &allowed));
    }
}
