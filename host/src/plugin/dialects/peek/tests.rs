use std::path::{Path, PathBuf};

use super::exports_completions;

fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path
}

fn component(exports: &str) -> Vec<u8> {
    // The sections before the exports contain their names, too, and are skipped.
    let text = format!(
        r#"(component
            (component (instance $i) (export "wharf:plugin/completions@0.1.0" (instance $i)))
            (core module (memory 1) (data (i32.const 0) "wharf:plugin/completions@0.1.0"))
            (instance $i)
            {exports})"#
    );
    wat::parse_str(text).expect("a component")
}

#[test]
fn only_the_components_own_exports_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let has = |bytes: &[u8]| exports_completions(&file(folder.path(), "a.wasm", bytes));
    let completing = component(
        r#"(export "wharf:plugin/tools@0.1.0" (instance $i)) (export "wharf:plugin/completions@0.1.0" (instance $i))"#,
    );
    assert!(has(&completing));
    assert!(!has(&component(r#"(export "wharf:plugin/tools@0.1.0" (instance $i))"#)));
    assert!(!has(&component(r#"(export "wharf:plugin/completions@0.2.0" (instance $i))"#)));
    assert!(!has(&wat::parse_str("(module)").expect("a module")));
}

#[test]
fn files_that_are_not_components_export_no_completions() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = component(r#"(export "wharf:plugin/completions@0.1.0" (instance $i))"#);
    let end = whole.windows(11).rposition(|window| window == b"completions").expect("the export");
    for length in 0..end {
        assert!(!exports_completions(&file(folder.path(), "cut.wasm", &whole[..length])), "{length}");
    }
    let mut endless = whole[..8].to_vec();
    endless.extend([0u8, 0].repeat(20_000));
    for bytes in [
        &b"text"[..],
        b"\0asm\x0d\0\x01\0\x0b\xff\xff\xff\xff\x0f",
        b"\0asm\x0d\0\x01\0\x0b\xff\xff\xff\xff\xff\xff",
        &endless,
    ] {
        assert!(!exports_completions(&file(folder.path(), "bad.wasm", bytes)));
    }
    assert!(!exports_completions(folder.path()));
    assert!(!exports_completions(&folder.path().join("none.wasm")));
    let target = file(folder.path(), "target.wasm", &whole);
    let link = folder.path().join("link.wasm");
    std::os::unix::fs::symlink(target, &link).expect("a link");
    assert!(!exports_completions(&link));
}
