use std::fs;

use minisign::{KeyPair, sign};

use super::{Signatures, unreadable};
use crate::plugin::error::LoadError;

fn key() -> (KeyPair, String) {
    let pair = KeyPair::generate_unencrypted_keypair().expect("a key");
    let public = pair.pk.to_base64();
    (pair, public)
}

#[test]
fn a_signature_is_valid_missing_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, beside) = (folder.path().join("a.wasm"), folder.path().join("a.wasm.minisig"));
    let ((ours, key), (theirs, _)) = (self::key(), self::key());
    let wanted = Signatures::new(std::slice::from_ref(&key), false).expect("a key");
    let required = Signatures::new(std::slice::from_ref(&key), true).expect("a key");
    assert_eq!(wanted.check(&path, b"bytes"), Ok(None));
    assert_eq!(required.check(&path, b"bytes"), Err(LoadError::Unsigned));

    let signature =
        |pair: &KeyPair| sign(None, &pair.sk, &b"bytes"[..], None, None).expect("a signature").into_string();
    fs::write(&beside, signature(&ours)).expect("a file");
    for signatures in [&wanted, &required] {
        let signer = signatures.check(&path, b"bytes").expect("a good signature").expect("a signer");
        assert_eq!(signer.to_string(), key);
        assert!(matches!(signatures.check(&path, b"other"), Err(LoadError::BadSignature(_))));
    }
    for bad in [signature(&theirs), "rubbish".into(), "x".repeat(10_000)] {
        fs::write(&beside, bad).expect("a file");
        assert!(matches!(wanted.check(&path, b"bytes"), Err(LoadError::BadSignature(_))));
    }
    // Without trusted keys no signature is read.
    assert_eq!(Signatures::default().check(&path, b"bytes"), Ok(None));
}

#[test]
fn an_invalid_key_is_reported() {
    assert_eq!(Signatures::new(&["RWnonsense".into()], false), Err("RWnonsense".into()));
}

#[test]
fn a_signature_that_cannot_be_read_now_is_not_invalid() {
    let now = LoadError::System("Too many open files".into());
    assert_eq!(unreadable(now.clone()), now);
    assert!(unreadable(LoadError::Symlink).is_of_signature());
}
