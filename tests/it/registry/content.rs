//! What is in a registry: forms of other programs, and what is no component.

use serde_json::json;

use super::double::{Double, INDEX, MANIFEST, WASM, WASM_CONFIG, descriptor};
use super::*;

#[test]
fn forms_of_other_programs_are_read() {
    let wasm = component("Does a thing.");
    for media_type in [
        WASM,
        "application/vnd.wasm.component.v1",
        "application/vnd.module.wasm.content.layer.v1+wasm",
        "application/vnd.wasm.content.layer.v1+wasm",
    ] {
        let (home, double) = (Home::new(), Double::start());
        let layer = double.blob(media_type, &wasm);
        // As oras publishes: without a configuration.
        let config = double.blob("application/vnd.oci.empty.v1+json", b"{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": WASM, "config": config, "layers": [layer],
        });
        double.manifest(Some("latest"), &manifest);
        let output = add(&home, &double.reference(""), &["--yes"]);
        assert!(output.status.success(), "{media_type}: {}", err(&output));
        assert_eq!(fs::read(home.plugin("p")).expect("the file"), wasm);
    }
}

#[test]
fn a_policy_of_wassette_is_a_wish() {
    let (home, double) = (Home::new(), Double::start());
    let policy = b"version: '1.0'\npermissions:\n  network:\n    allow:\n      - host: api.example.com\n";
    let layers =
        [double.blob(WASM, &component("Does a thing.")), double.blob("application/vnd.wassette.policy+yaml", policy)];
    double.publish_layers("1", &layers, json!({}));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    let text = err(&output);
    assert!(output.status.success(), "{text}");
    let shown = if cfg!(feature = "dev") { "api.example.com" } else { "a policy of Wassette" };
    assert!(text.contains("  wishes   ") && text.contains(shown), "{text}");
    let settings = fs::read_to_string(home.path("config/wharf/wharf.toml")).unwrap_or_default();
    assert!(!settings.contains("example.com"), "{settings}");
}

/// Also of a file, which has no annotations.
#[test]
fn what_a_component_of_act_declares_is_a_wish() {
    let home = Home::new();
    let declared = json!({ "std": { "name": "p", "capabilities": {
        "wasi:http": { "allow": [{ "host": "api.example.com" }] },
        "wasi:filesystem": { "allow": [{ "path": "/data", "mode": "ro" }] },
        "x\u{1b}[31m\nfake": {},
    } } });
    let mut section = b"\x0dact:component".to_vec();
    ciborium::into_writer(&declared, &mut section).expect("it is written");
    let mut wasm = component("Does a thing.");
    let size = section.len();
    wasm.extend([0, (size & 0x7f) as u8 | 0x80, (size >> 7) as u8]);
    wasm.extend(section);
    let file = home.path("home/p.wasm");
    fs::write(&file, wasm).expect("a file");
    let output = add(&home, &file.to_string_lossy(), &["--yes"]);
    let text = err(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("  wishes   wasi:filesystem /data ro\n           http=https://api.example.com\n"), "{text}");
    assert!(text.contains("grant p ") && text.ends_with("http=https://api.example.com'\n"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("\nfake"), "{text}");
    let settings = fs::read_to_string(home.path("config/wharf/wharf.toml")).unwrap_or_default();
    assert!(!settings.contains("example.com"), "{settings}");
}

#[test]
fn an_index_is_followed_to_its_component() {
    let (home, double) = (Home::new(), Double::start());
    let digest = double.publish("for-wasm", &component("Does a thing."), json!({}));
    let entry = |digest: &str, os: &str, architecture: &str| json!({ "mediaType": MANIFEST, "digest": digest, "size": 1, "platform": { "os": os, "architecture": architecture } });
    let other = super::double::sha256(b"other");
    let index =
        |entries: Vec<serde_json::Value>| json!({ "manifests": entries, "mediaType": INDEX, "schemaVersion": 2 });
    let whole =
        double.manifest(Some("1"), &index(vec![entry(&other, "linux", "amd64"), entry(&digest, "wasip2", "wasm")]));
    double.manifest(Some("2"), &index(vec![entry(&other, "linux", "amd64"), entry(&digest, "linux", "arm64")]));
    double.manifest(Some("3"), &index(vec![entry(&other, "wasip2", "wasm"), entry(&digest, "wasip2", "wasm")]));
    refused(&home, &double.reference(":2"), "an index without a component, for linux/amd64, linux/arm64");
    refused(&home, &double.reference(":3"), "an index of several components");
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
    let origins = fs::read_to_string(home.plugins().join("wharf.lock")).expect("the file");
    assert!(origins.contains(&whole), "what the tag names is recorded: {origins}");
}

#[test]
fn what_is_no_component_is_named() {
    let (home, double) = (Home::new(), Double::start());
    let layer = |media_type: &str| double.blob(media_type, b"x");
    for (tag, layers, why) in [
        ("image", vec![layer("application/vnd.oci.image.layer.v1.tar+gzip")], "it is a container image"),
        ("chart", vec![layer("application/vnd.cncf.helm.chart.content.v1.tar+gzip")], "it is a Helm chart"),
        ("other", vec![layer("text/plain")], "none of its layers is a WebAssembly component: text/plain"),
        ("two", vec![layer(WASM), layer("application/vnd.wasm.component.v1")], "more than one component"),
        ("text", vec![layer(WASM)], "failed to "),
    ] {
        double.publish_layers(tag, &layers, json!({}));
        refused(&home, &double.reference(&format!(":{tag}")), why);
    }
    refused(&home, &double.reference(":none"), "404 Not Found: manifest unknown");
    let search = format!("search {}/acme/p", double.host());
    refused(&home, &double.reference(":none"), &search);
    refused(&home, &double.reference(""), "of which the tag latest is meant");
    for (tag, text) in [
        (
            "both",
            json!({ "schemaVersion": 2, "layers": [], "manifests": [], "config": descriptor(WASM_CONFIG, b"{}") }),
        ),
        ("list", json!([])),
        (
            "deep",
            json!({ "schemaVersion": 2, "layers": [{ "mediaType": WASM, "digest": "sha512:00", "size": 1 }],
            "config": descriptor(WASM_CONFIG, b"{}") }),
        ),
    ] {
        double.manifest(Some(tag), &text);
        refused(&home, &double.reference(&format!(":{tag}")), "failed to get oci://");
    }
}

#[test]
fn sizes_are_limited_before_and_while_they_are_downloaded() {
    let (home, double) = (Home::new(), Double::start());
    let wasm = component("Does a thing.");
    let mut layer = double.blob(WASM, &wasm);
    layer["size"] = json!(2_u64 << 30);
    double.publish_layers("huge", &[layer.clone()], json!({}));
    refused(&home, &double.reference(":huge"), "the component has more than 67108864 bytes");
    assert!(!double.heads().iter().any(|head| head.contains("/blobs/")), "it is not downloaded");
    layer["size"] = json!(wasm.len() - 1);
    double.publish_layers("longer", &[layer.clone()], json!({}));
    refused(&home, &double.reference(":longer"), "the download has more than the");
    layer["size"] = json!(wasm.len());
    layer["digest"] = json!(super::double::sha256(b"other"));
    double.publish_layers("other", &[layer.clone()], json!({}));
    let bytes = wasm.clone();
    double.hook(move |_, path| {
        path.contains("/blobs/").then(|| super::double::Answer {
            status: "200 OK",
            body: bytes.clone(),
            ..Default::default()
        })
    });
    refused(&home, &double.reference(":other"), "the download is sha256:");
    // It is not gone on with.
    refused(&home, &double.reference(":other"), "the download is sha256:");
}
