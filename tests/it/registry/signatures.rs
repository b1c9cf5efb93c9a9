//! Signatures of cosign in its three places, and those of minisign: what counts, and what does not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::double::{Double, MANIFEST, sha256};
use super::*;

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

struct Key(EcdsaKeyPair);

impl Key {
    fn new() -> Self {
        let random = SystemRandom::new();
        let text = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, text.as_ref(), &random).expect("a key"))
    }

    fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.0.sign(&SystemRandom::new(), message).expect("a signature"))
    }

    /// As `cosign.pub`, in the home; the configuration of its registry requires it.
    fn require(&self, home: &Home, double: &Double) {
        let prefix = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE";
        let mut der = STANDARD.decode(prefix).expect("a prefix");
        der.pop();
        der.extend_from_slice(self.0.public_key().as_ref());
        let text = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der));
        home.configure(&format!("[registries.\"{}/acme\"]\nkeys = [\"cosign.pub\"]\n", double.host()));
        fs::write(home.path("config/wharf/cosign.pub"), text).expect("a file");
    }
}

fn payload(digest: &str) -> Vec<u8> {
    json!({ "critical": { "identity": { "docker-reference": "x" }, "image": { "docker-manifest-digest": digest },
        "type": "cosign container image signature" }, "optional": null })
    .to_string()
    .into_bytes()
}

/// A manifest of signatures, as cosign writes it.
fn classic(double: &Double, signed: &[(&Key, Vec<u8>)]) -> Value {
    let layer = |(key, payload): &(&Key, Vec<u8>)| {
        let mut layer = double.blob("application/vnd.dev.cosign.simplesigning.v1+json", payload);
        layer["annotations"] = json!({ "dev.cosignproject.cosign/signature": key.sign(payload) });
        layer
    };
    let config = double.blob("application/vnd.oci.image.config.v1+json", b"{}");
    json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": signed.iter().map(layer).collect::<Vec<_>>() })
}

fn tag(digest: &str) -> String {
    format!("{}.sig", digest.replace(':', "-"))
}

/// A referrer with a bundle, as cosign 3 writes it.
fn bundle(double: &Double, key: &Key, digest: &str, predicate: &str, signed_digest: &str) -> Value {
    let statement = json!({ "_type": "https://in-toto.io/Statement/v1", "predicateType": predicate, "predicate": {},
        "subject": [{ "digest": { "sha256": signed_digest.trim_start_matches("sha256:") }, "annotations": {} }] })
    .to_string();
    let kind = "application/vnd.in-toto+json";
    let message = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
    let text = json!({ "mediaType": BUNDLE, "verificationMaterial": { "publicKey": { "hint": "x" } }, "dsseEnvelope": {
        "payload": STANDARD.encode(&statement), "payloadType": kind, "signatures": [{ "sig": key.sign(message.as_bytes()) }] } })
    .to_string();
    let layer = double.blob(BUNDLE, text.as_bytes());
    let config = double.blob("application/vnd.oci.empty.v1+json", b"{}");
    json!({ "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE, "config": config, "layers": [layer],
        "subject": { "mediaType": MANIFEST, "digest": digest, "size": 1 } })
}

#[test]
fn a_required_signature_is_found_in_all_places() {
    for place in ["tag", "second of the tag", "referrer", "bundle"] {
        let (home, double, key) = (Home::new(), Double::start().with_referrers(), Key::new());
        key.require(&home, &double);
        let digest = double.publish("1", &component("Does a thing."), json!({}));
        refused(&home, &double.reference(":1"), "it is not signed, and [registries.");
        let signed = payload(&digest);
        match place {
            "tag" => double.manifest(Some(&tag(&digest)), &classic(&double, &[(&key, signed)])),
            "second of the tag" => double
                .manifest(Some(&tag(&digest)), &classic(&double, &[(&Key::new(), signed.clone()), (&key, signed)])),
            "referrer" => {
                let mut manifest = classic(&double, &[(&key, signed)]);
                manifest["artifactType"] = json!("application/vnd.dev.cosign.artifact.sig.v1+json");
                manifest["subject"] = json!({ "mediaType": MANIFEST, "digest": digest, "size": 1 });
                double.manifest(None, &manifest)
            }
            _ => double.manifest(None, &bundle(&double, &key, &digest, PREDICATE, &digest)),
        };
        let output = add(&home, &double.reference(":1"), &["--yes"]);
        assert!(
            output.status.success() && err(&output).contains("signed   by cosign key sha256:"),
            "{place}: {}",
            err(&output)
        );
        let origins = fs::read_to_string(home.plugins().join("wharf.lock")).expect("the file");
        assert!(origins.contains("signer = \"cosign key sha256:"), "{origins}");
    }
}

/// A registry without an API for referrers has them under a tag.
#[test]
fn a_bundle_is_found_by_the_tag_that_stands_for_referrers() {
    let (home, double, key) = (Home::new(), Double::start(), Key::new());
    key.require(&home, &double);
    let digest = double.publish("1", &component("Does a thing."), json!({}));
    let signature = double.manifest(None, &bundle(&double, &key, &digest, PREDICATE, &digest));
    let entry = json!({ "mediaType": MANIFEST, "digest": signature, "size": 1 });
    let index = json!({ "manifests": [entry], "mediaType": super::double::INDEX, "schemaVersion": 2 });
    double.manifest(Some(&digest.replace(':', "-")), &index);
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn signatures_of_other_keys_manifests_and_statements_do_not_count() {
    let (home, double, key) = (Home::new(), Double::start().with_referrers(), Key::new());
    key.require(&home, &double);
    let digest = double.publish("1", &component("Does a thing."), json!({}));
    let other = sha256(b"other");
    let none = "its signature is not by them".to_owned();
    let sign = |manifest: &Value| drop(double.manifest(Some(&tag(&digest)), manifest));
    sign(&classic(&double, &[(&Key::new(), payload(&digest))]));
    refused(&home, &double.reference(":1"), &none);
    sign(&classic(&double, &[(&key, payload(&other))]));
    refused(&home, &double.reference(":1"), &none);
    let mut changed = classic(&double, &[(&key, payload(&other))]);
    changed["layers"][0] = {
        let mut layer = double.blob("application/vnd.dev.cosign.simplesigning.v1+json", &payload(&digest));
        layer["annotations"] = changed["layers"][0]["annotations"].clone();
        layer
    };
    sign(&changed);
    refused(&home, &double.reference(":1"), &none);
    sign(&json!({ "schemaVersion": 2, "config": changed["config"], "layers": [] }));
    let bundles = [("https://spdx.dev/Document", &digest, &*none), (PREDICATE, &other, "none of its 2 signatures")];
    for (predicate, signed, none) in bundles {
        double.manifest(None, &bundle(&double, &key, &digest, predicate, signed));
        refused(&home, &double.reference(":1"), none);
    }
}

#[test]
fn without_keys_a_signature_is_named_and_not_trusted() {
    let (home, double) = (Home::new(), Double::start());
    let digest = double.publish("1", &component("Does a thing."), json!({}));
    double.manifest(Some(&tag(&digest)), &classic(&double, &[(&Key::new(), payload(&digest))]));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    let text = err(&output);
    assert!(
        output.status.success() && text.contains("1 signature, not checked: the configuration names no key"),
        "{text}"
    );
    assert!(!fs::read_to_string(home.plugins().join("wharf.lock")).expect("the file").contains("signer"));
}

#[test]
fn a_signature_of_minisign_travels_with_its_component() {
    let (home, double) = (Home::new(), Double::start());
    let pair = minisign::KeyPair::generate_unencrypted_keypair().expect("a key");
    let key = pair.pk.to_base64();
    home.configure(&format!(
        "[signatures]\nkeys = ['{key}']\nrequired = true\n[registries.\"{}\"]\nkeys = ['{key}']\n",
        double.host()
    ));
    let wasm = component("Does a thing.");
    let signature = minisign::sign(None, &pair.sk, &wasm[..], None, None).expect("a signature").to_string();
    double.publish("1", &wasm, json!({ "io.github.wharf-mcp.minisig": signature }));
    double.publish("2", &component("Does another thing."), json!({ "io.github.wharf-mcp.minisig": signature }));
    refused(&home, &double.reference(":2"), "its signature is not by them");
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success() && err(&output).contains(&format!("signed   by {key}")), "{}", err(&output));
    assert_eq!(names_in(&home.plugins()), ["p.wasm", "p.wasm.minisig", "wharf.lock"]);
    let status = run(&home, ["status".as_ref(), home.plugins().as_os_str()]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("1 runs"));
    // One that was lost comes back, with an update and with a list.
    let (folder, lost) = (home.plugins(), home.path("served/plugins/p.wasm.minisig"));
    let update = ["update".as_ref(), folder.as_os_str(), "--yes".as_ref()];
    let list = folder.join("wharf.lock");
    let sync = ["sync".as_ref(), list.as_os_str(), folder.as_os_str(), "--yes".as_ref()];
    for command in [&update[..], &sync] {
        fs::remove_file(&lost).expect("it is there");
        let output = run(&home, command);
        assert!(output.status.success() && lost.exists(), "{command:?}: {}", err(&output));
    }
}

#[test]
fn keys_that_are_required_later_are_required_of_what_is_there() {
    let (home, double, key) = (Home::new(), Double::start(), Key::new());
    double.publish("1", &component("Does a thing."), json!({}));
    assert!(add(&home, &double.reference(":1"), &["--yes"]).status.success());
    key.require(&home, &double);
    let output = run(&home, ["update".as_ref(), "p".as_ref(), home.plugins().as_os_str()]);
    assert!(!output.status.success() && err(&output).contains("it is not signed, and"), "{}", err(&output));
}

#[test]
fn a_key_that_cannot_sign_says_how_to_convert_it() {
    let home = Home::new();
    fs::write(home.plugin("p"), component("Does a thing.")).expect("a file");
    let key = home.path("home/my key");
    for (content, hint) in [
        (&b"\x30\x82\xff\x00"[..], "openssl pkey -inform DER -in '"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\n", "-m PKCS8 -f '"),
        (b"-----BEGIN EC PRIVATE KEY-----\n", "openssl pkcs8 -topk8 -nocrypt -in '"),
        (b"untrusted comment: minisign encrypted secret key\nRWR", "minisign -S -m"),
    ] {
        fs::write(&key, content).expect("a file");
        let words =
            ["push", "oci://localhost:1/a/p:1", &home.plugin("p").to_string_lossy(), "--key"].map(str::to_owned);
        let output = run(&home, words.iter().map(String::as_ref).chain([key.as_os_str()]));
        assert!(output.status.code() == Some(2) && err(&output).contains(hint), "{hint}: {}", err(&output));
    }
}

/// Whoever may write to the repository cannot hide the signature of another one.
#[test]
fn a_damaged_signature_hides_no_other() {
    let (home, double, key) = (Home::new(), Double::start().with_referrers(), Key::new());
    key.require(&home, &double);
    let digest = double.publish("1", &component("Does a thing."), json!({}));
    let mut large = bundle(&double, &key, &digest, PREDICATE, &digest);
    large["layers"] = json!([double.blob(BUNDLE, &vec![b'x'; 2 << 20])]);
    double.manifest(None, &large);
    let mut lying = bundle(&double, &key, &digest, PREDICATE, &digest);
    lying["layers"][0]["size"] = json!(5);
    double.manifest(None, &lying);
    double.manifest(None, &bundle(&double, &key, &digest, PREDICATE, &digest));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success() && err(&output).contains("signed   by cosign key"), "{}", err(&output));
}

/// The same key may sign other things than versions of artifacts.
#[test]
fn what_a_key_signed_for_another_purpose_does_not_count() {
    let (home, double, key) = (Home::new(), Double::start(), Key::new());
    key.require(&home, &double);
    let digest = double.publish("1", &component("Does a thing."), json!({}));
    let other = json!({ "critical": { "identity": { "docker-reference": "x" },
        "image": { "docker-manifest-digest": digest }, "type": "atomic container signature" }, "optional": null });
    double.manifest(Some(&tag(&digest)), &classic(&double, &[(&key, other.to_string().into_bytes())]));
    refused(&home, &double.reference(":1"), "its signature is not by them");
}

#[test]
fn keys_of_a_registry_hold_for_tables_below_it() {
    let (home, double, key) = (Home::new(), Double::start(), Key::new());
    key.require(&home, &double);
    let host = double.host();
    double.publish("1", &component("Does a thing."), json!({}));
    let settings = format!("[registries.\"{host}/acme\"]\nkeys = [\"cosign.pub\"]\n");
    home.configure(&format!("{settings}[registries.\"{host}/acme/p\"]\nprivate = true\n"));
    refused(&home, &double.reference(":1"), &format!("[registries.\"{host}/acme\"] requires"));
    home.configure(&format!("{settings}[registries.\"{host}/acme/p\"]\nkeys = []\n"));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn a_key_that_cannot_be_read_says_what_to_write() {
    let (home, double, key) = (Home::new(), Double::start(), Key::new());
    key.require(&home, &double);
    double.publish("1", &component("Does a thing."), json!({}));
    let doctor = || {
        let output = run(&home, ["doctor".as_ref(), home.plugins().as_os_str()]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(doctor().contains("1 keys of publishers can be read"), "{}", doctor());
    let minisign = "untrusted comment: minisign public key\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n";
    for (text, hint) in [(minisign, "\"RWQf6LRCGA9i5"), ("x", "write the path of cosign.pub")] {
        fs::write(home.path("config/wharf/cosign.pub"), text).expect("a file");
        refused(&home, &double.reference(":1"), hint);
        assert!(doctor().contains(hint), "{}", doctor());
    }
}

/// A server may want signatures of files, which those of registries are not.
#[test]
fn an_error_about_a_download_names_its_reference() {
    let (home, double) = (Home::new(), Double::start());
    home.configure(
        "[signatures]\nrequired = true\nkeys = ['RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3']\n",
    );
    double.publish("1", &component("Does a thing."), json!({}));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    let text = err(&output);
    assert!(!output.status.success() && text.contains(&double.reference(":1")), "{text}");
    assert!(!text.contains("downloads") && !text.contains("minisign -S"), "{text}");
}
