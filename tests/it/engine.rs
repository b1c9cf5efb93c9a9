//! Crates are built without the features listed in `deny.toml`, even if another dependency
//! enables them: no plugin needs them, so no hostile component may reach them.

use std::process::Command;

use crate::supply::{rules, strings};
use crate::support::home::repository;

#[test]
fn banned_features_are_not_built_in() {
    let rules = rules();
    let bans = rules["bans"]["features"].as_array().expect("a list of crates");
    for ban in bans {
        let name = ban["crate"].as_str().expect("a crate's name");
        let features = features(name);
        for feature in strings(&ban["deny"]) {
            assert!(!features.contains(&feature), "{name} is built with {feature:?}");
        }
    }
    // Fails if the output format of `cargo tree` has changed.
    let wasmtime = features("wasmtime");
    assert!(wasmtime.contains(&"component-model".to_owned()), "{wasmtime:?}");
}

/// The features with which a crate is built into the host.
fn features(name: &str) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "-p", "wharf-mcp", "-e", "normal,features", "-i", name])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let feature = format!("{name} feature \"");
    tree.split(&feature).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}
