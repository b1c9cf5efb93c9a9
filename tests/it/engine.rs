//! The engine is built without the features that no plugin needs, so that no hostile
//! component can reach them, whatever another dependency asks for.

use std::process::Command;

use crate::support::home::repository;

const LEFT_OUT: [&str; 11] = [
    "cache",
    "component-model-async",
    "coredump",
    "debug",
    "gc",
    "profiling",
    "stack-switching",
    "threads",
    "wat",
    "winch",
    "wasi-http",
];

#[test]
fn features_left_out_stay_out() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "-p", "wharf", "-e", "normal,features", "-i", "wasmtime"])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let features: Vec<&str> =
        tree.split("wasmtime feature \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(features.contains(&"component-model"), "cargo tree says something else than it did:\n{tree}");
    for feature in LEFT_OUT {
        assert!(!features.contains(&feature), "wasmtime is built with {feature:?}:\n{tree}");
    }
}
