//! Signatures of plugin files: valid, invalid, missing, and by another signer.

use minisign::{KeyPair, sign};

use super::*;

struct Author(KeyPair);

impl Author {
    fn new() -> Self {
        Self(KeyPair::generate_unencrypted_keypair().expect("a key"))
    }

    fn key(&self) -> String {
        self.0.pk.to_base64()
    }

    /// Puts the signature and then the component into the folder.
    fn publish(&self, home: &Home, component: &[u8]) {
        self.sign(home, component);
        home.put_bytes(component, "p");
    }

    fn sign(&self, home: &Home, component: &[u8]) {
        let signature = sign(None, &self.0.sk, component, None, None).expect("a signature").into_string();
        fs::write(beside(home), signature).expect("a file");
    }
}

/// A key that has signed nothing.
pub(super) fn a_key() -> String {
    Author::new().key()
}

fn beside(home: &Home) -> std::path::PathBuf {
    home.plugin("p").with_extension("wasm.minisig")
}

fn settings(authors: &[&Author], required: bool) -> String {
    let keys: Vec<String> = authors.iter().map(|author| format!("{:?}", author.key())).collect();
    format!("[signatures]\nkeys = [{}]\nrequired = {required}\n", keys.join(", "))
}

#[test]
fn a_valid_signature_is_recorded_and_an_invalid_one_refused() {
    let (author, stranger) = (Author::new(), Author::new());
    let home = Home::new();
    home.configure(&settings(&[&author], false));
    author.publish(&home, &version("1", "Does a thing."));
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    assert_eq!(status(&home)["pinned"]["signer"], author.key());
    // By an unknown key, then of other content.
    for answer in ["2", "3"] {
        stranger.sign(&home, b"anything");
        home.put_bytes(&version(answer, "Does a thing."), "p");
        client.process().log_with("whose signature is invalid");
        assert_eq!(client.text("p_version", json!({})), "1");
    }
    // The signature may come after the file.
    author.sign(&home, &version("3", "Does a thing."));
    until(&mut client, "3");
}

#[test]
fn a_missing_signature_is_refused_if_required() {
    let author = Author::new();
    let home = home(&settings(&[&author], true));
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    client.process().log_with("failed to find the signature that the configuration requires");
    assert_eq!(status(&home)["state"], "refused");
    author.sign(&home, &version("1", "Does a thing."));
    client.tools_until(|tools| tools.len() == 2);
    assert_eq!(folder_command(&home, &["list"]).status.code(), Some(0));
}

#[test]
fn a_changed_or_missing_signer_is_held() {
    let (author, heir) = (Author::new(), Author::new());
    let home = Home::new();
    home.configure(&settings(&[&author, &heir], false));
    author.publish(&home, &version("1", "Does a thing."));
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");

    fs::remove_file(beside(&home)).expect("the signature");
    home.put_bytes(&version("2", "Does a thing."), "p");
    client.process().log_with("held: it is not signed, but the previous version was");
    assert_eq!(client.text("p_version", json!({})), "1");
    heir.publish(&home, &version("3", "Does a thing."));
    let expected = format!("held: it is signed by {}, but the previous version by {}", heir.key(), author.key());
    client.process().log_with(&expected);
    assert_eq!(client.text("p_version", json!({})), "1");
    assert_eq!(status(&home)["code"], "signer_changed");

    approve(&home, "p");
    until(&mut client, "3");
    assert_eq!(status(&home)["pinned"]["signer"], heir.key());
}

#[test]
fn a_signature_does_not_approve_changed_descriptions() {
    let author = Author::new();
    let home = Home::new();
    home.configure(&format!("{GRANTED}{}", settings(&[&author], true)));
    author.publish(&home, &version("1", "Does a thing."));
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    author.publish(&home, &version("2", "Does another thing."));
    client.process().log_with("held: the plugin holds grants, and its lists have changed");
    assert_eq!(client.text("p_version", json!({})), "1");
}

#[test]
fn a_file_refused_for_its_signature_is_retried_when_a_key_is_added() {
    let (author, heir) = (Author::new(), Author::new());
    let home = Home::new();
    home.configure(&settings(&[&author], true));
    heir.publish(&home, &version("1", "Does a thing."));
    home.put_bytes(&version("1", "Does a thing."), "unsigned");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    client.process().log_with("whose signature is invalid");
    home.configure(&settings(&[&author, &heir], true));
    client.tools_until(|tools| tools == ["p_version", "p_act"]);
    home.configure(&settings(&[&author, &heir], false));
    client.tools_until(|tools| tools.len() == 4);
}
