//! Credentials of registries, as docker, podman and their helpers keep them.
//!
//! In their order: `DOCKER_AUTH_CONFIG`, `REGISTRY_AUTH_FILE`, docker's `config.json`, and the `auth.json` of podman.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;
use wharf_report::ShowPath as _;

use super::base64::decoded;
use super::error::{RegistryError, said};
use super::reference::Repository;
use crate::json;
use crate::os::files::{self, FileError};

/// Bytes of a file, and of a helper's answer.
const MAX_FILE: u64 = 1 << 20;
const MAX_ANSWER: u64 = 64 << 10;
/// A helper may ask the person to unlock a keychain.
const HELPER: Duration = Duration::from_secs(60);
/// How docker names its own registry.
const DOCKER_KEY: &str = "https://index.docker.io/v1/";
/// The user name with which a helper gives an identity token.
const TOKEN_USER: &str = "<token>";

/// What a registry's token server, or the registry itself, is given.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    Password {
        user: String,
        password: String,
    },
    /// A refresh token.
    Identity(String),
    /// A bearer token for the registry itself.
    Bearer(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AuthFile {
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Stored {
    username: String,
    secret: String,
}

/// The credentials for a repository; `None` if there are none.
///
/// # Errors
/// If a file or helper that has them fails: without them a registry would answer that nothing is there.
pub(super) async fn find(repository: &Repository) -> Result<Option<Credentials>, RegistryError> {
    let mut texts: Vec<(String, String)> = Vec::new();
    texts.extend(std::env::var("DOCKER_AUTH_CONFIG").ok().map(|text| ("DOCKER_AUTH_CONFIG".to_owned(), text)));
    for path in places() {
        match files::read_text(&path, MAX_FILE) {
            Ok(text) => texts.push((path.shown().to_string(), text)),
            Err(FileError::System(error))
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => {
                return Err(RegistryError::Credentials(format!("read the credentials in {}: {error}", path.shown())));
            }
        }
    }
    for (place, text) in texts {
        let file: AuthFile = json::read(&text)
            .map_err(|error| RegistryError::Credentials(format!("read the credentials in {place}: {error}")))?;
        if let Some(found) = in_file(file, &place, repository).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn places() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = etcetera::home_dir().ok();
    let docker = variable("DOCKER_CONFIG").or_else(|| home.as_ref().map(|home| home.join(".docker")));
    let config = variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    [
        variable("REGISTRY_AUTH_FILE"),
        docker.map(|folder| folder.join("config.json")),
        variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
        config.map(|folder| folder.join("containers/auth.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The names under which a file may have the credentials, the most specific first.
fn keys(repository: &Repository) -> Vec<String> {
    let whole = repository.to_string();
    let mut keys: Vec<String> = Vec::new();
    let mut rest = whole.as_str();
    loop {
        keys.push(rest.to_owned());
        match rest.rsplit_once('/') {
            Some((above, _)) => rest = above,
            None => break,
        }
    }
    if repository.registry == "docker.io" {
        keys.extend([DOCKER_KEY.to_owned(), "index.docker.io".to_owned()]);
    }
    keys
}

/// The host of a key that is a URL.
fn host_of(key: &str) -> &str {
    let rest = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    rest.split('/').next().unwrap_or_default()
}

async fn in_file(
    mut file: AuthFile,
    place: &str,
    repository: &Repository,
) -> Result<Option<Credentials>, RegistryError> {
    let keys = keys(repository);
    for key in &keys {
        if let Some(helper) = file.cred_helpers.get(key) {
            return ask(helper, key).await;
        }
    }
    let known = keys.iter().find(|key| file.auths.contains_key(*key)).cloned();
    let by_url = || file.auths.keys().find(|key| key.contains("://") && host_of(key) == repository.registry).cloned();
    let key = known.or_else(by_url);
    if let Some(store) = &file.creds_store {
        // It is asked also for what is not listed: not all programs write the empty entry.
        let docker = (repository.registry == "docker.io").then(|| DOCKER_KEY.to_owned());
        let asked = key.clone().or(docker).unwrap_or_else(|| repository.registry.clone());
        if let Some(found) = ask(store, &asked).await? {
            return Ok(Some(found));
        }
    }
    let Some(entry) = key.and_then(|key| file.auths.remove(&key)) else { return Ok(None) };
    of_entry(entry).map_err(|why| RegistryError::Credentials(format!("read the credentials in {place}: {why}")))
}

fn of_entry(entry: Entry) -> Result<Option<Credentials>, &'static str> {
    if let Some(token) = entry.registrytoken.filter(|token| !token.is_empty()) {
        return Ok(Some(Credentials::Bearer(token)));
    }
    if let Some(token) = entry.identitytoken.filter(|token| !token.is_empty()) {
        return Ok(Some(Credentials::Identity(token)));
    }
    if let (Some(user), Some(password)) = (entry.username, entry.password) {
        return Ok(Some(Credentials::Password { user, password }));
    }
    let Some(auth) = entry.auth.filter(|auth| !auth.is_empty()) else { return Ok(None) };
    let wrong = "an auth is not the base64 of user:password";
    let text = decoded(auth.trim()).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(wrong)?;
    let (user, password) = text.trim_end_matches('\0').split_once(':').ok_or(wrong)?;
    Ok(Some(Credentials::Password { user: user.to_owned(), password: password.to_owned() }))
}

/// Asks the program `docker-credential-NAME`.
async fn ask(helper: &str, key: &str) -> Result<Option<Credentials>, RegistryError> {
    let failed =
        |why: String| RegistryError::Credentials(format!("get credentials from docker-credential-{helper}: {why}"));
    // It becomes a program's name, which no path may be.
    if helper.is_empty() || !helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return Err(failed("its name is invalid".to_owned()));
    }
    let io_failed = |error: io::Error| failed(error.to_string());
    let asking = async {
        let mut child = Command::new(format!("docker-credential-{helper}"))
            .arg("get")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(io_failed)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(key.as_bytes()).await.map_err(io_failed)?;
        }
        let mut answer = Vec::new();
        if let Some(output) = child.stdout.take() {
            output.take(MAX_ANSWER).read_to_end(&mut answer).await.map_err(io_failed)?;
        }
        let status = child.wait().await.map_err(io_failed)?;
        Ok::<_, RegistryError>((status.success(), String::from_utf8_lossy(&answer).into_owned()))
    };
    let (succeeded, answer) =
        timeout(HELPER, asking).await.map_err(|_| failed("it did not answer in a minute".to_owned()))??;
    if !succeeded {
        let is_missing = answer.contains("credentials not found");
        return if is_missing { Ok(None) } else { Err(failed(said(answer.trim()))) };
    }
    // Not shown: it has the secret.
    let Stored { username, secret } =
        json::read(&answer).map_err(|_| failed("its answer is not as docker specifies it".to_owned()))?;
    Ok(match (username.as_str(), secret.is_empty()) {
        (_, true) => None,
        (TOKEN_USER, _) => Some(Credentials::Identity(secret)),
        _ => Some(Credentials::Password { user: username, password: secret }),
    })
}

/// The value of `Authorization` for a user and a password.
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn found(text: &str, repository: &str) -> Option<Credentials> {
        let file: AuthFile = json::read(text).expect("a file");
        let repository = Repository::parse(repository).expect("a repository");
        in_file(file, "here", &repository).await.ok().flatten()
    }

    fn password(user: &str, password: &str) -> Option<Credentials> {
        Some(Credentials::Password { user: user.to_owned(), password: password.to_owned() })
    }

    #[tokio::test]
    async fn files_of_docker_and_podman_are_read() {
        let (ab, cd) = (STANDARD.encode("a:b:c"), STANDARD.encode("c:d").trim_end_matches('=').to_owned());
        let text = format!(
            r#"{{"auths": {{"ghcr.io": {{"auth": "{ab}"}}, "ghcr.io/acme": {{"auth": "{cd}"}}, "https://old.example/v1/": {{"auth": "{ab}"}},
                "https://index.docker.io/v1/": {{"username": "u", "password": "p"}}, "id.example": {{"auth": "{ab}", "identitytoken": "t"}},
                "empty.example": {{}}}}, "HttpHeaders": {{}}}}"#
        );
        for (repository, expected) in [
            ("ghcr.io/other/x", password("a", "b:c")),
            ("ghcr.io/acme/x", password("c", "d")),
            ("ghcr.io/acmes/x", password("a", "b:c")),
            ("old.example/x", password("a", "b:c")),
            ("docker.io/x", password("u", "p")),
            ("id.example/x", Some(Credentials::Identity("t".to_owned()))),
            ("empty.example/x", None),
            ("none.example/x", None),
        ] {
            assert!(found(&text, repository).await == expected, "{repository}");
        }
    }

    #[tokio::test]
    async fn a_helper_with_a_path_is_not_started() {
        let repository = Repository::parse("a.example/x").expect("a repository");
        for helper in ["../x", "x/y", "", "a b", "x;y"] {
            let file = AuthFile { creds_store: Some(helper.to_owned()), ..AuthFile::default() };
            let error = in_file(file, "here", &repository).await.err().expect("it is refused");
            assert!(error.to_string().contains("name is invalid"), "{error}");
        }
    }
}
