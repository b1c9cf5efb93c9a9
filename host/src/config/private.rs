//! Secrets and certificates that the configuration names, and the host's own files. A folder that contains one must not
//! be granted to a plugin; the OS sandbox lets the server read them.

use std::path::PathBuf;

use super::{Config, ConfigPath, SecretConfig};
use crate::plugin::PrivateFile;

/// Something that the file names for the server, and not for a user.
struct Named<'a> {
    what: String,
    env: Option<&'a str>,
    file: Option<&'a ConfigPath>,
}

impl<'a> Named<'a> {
    fn file(what: &str, file: Option<&'a ConfigPath>) -> Self {
        Self { what: what.to_owned(), env: None, file }
    }

    fn secret(what: &str, secret: &'a SecretConfig) -> Self {
        Self { what: what.to_owned(), env: secret.env.as_deref(), file: secret.file.as_ref() }
    }
}

impl Config {
    fn named(&self) -> impl Iterator<Item = Named<'_>> {
        let (http, store) = (&self.server.http, &self.store);
        let tokens = http.tokens.iter().map(|token| Named {
            what: format!("the token of {}", token.name),
            env: token.env.as_deref(),
            file: token.file.as_ref(),
        });
        let telemetry = self.telemetry.token.iter().chain(self.telemetry.headers.values());
        let certificates = http.tls.iter().flat_map(|tls| {
            [Named::file("the certificate", Some(&tls.cert)), Named::file("the certificate's key", Some(&tls.key))]
        });
        let secrets = self.secrets.iter().filter(|(_, secret)| !secret.is_personal());
        let secrets = secrets.map(|(name, secret)| Named {
            what: format!("the secret '{name}'"),
            env: secret.env.as_deref(),
            file: secret.file.as_ref(),
        });
        let store = [
            Named::file("the credentials of the store", store.credentials.as_ref()),
            Named::file("the certificates of the store", store.ca.as_ref()),
        ]
        .into_iter()
        .chain(store.password.iter().map(|password| Named::secret("the password of the store", password)));
        let key = self.server.state_key.iter().map(|key| Named::secret("the state key", key));
        key.chain(tokens)
            .chain(self.client_secrets().map(|secret| Named::secret("a client secret of OAuth", secret)))
            .chain(self.metrics.token.iter().map(|token| Named::secret("the token for metrics", token)))
            .chain(self.page.token.iter().map(|token| Named::secret("the token for the page", token)))
            .chain(telemetry.map(|secret| Named::secret("a secret of telemetry", secret)))
            .chain(certificates)
            .chain(secrets)
            .chain(store)
    }

    /// The files of keys, tokens, secrets and certificates.
    pub fn named_files(&self) -> impl Iterator<Item = PathBuf> {
        self.named().filter_map(|named| named.file).map(|file| self.resolve(file))
    }

    /// The variables that the file names for one thing each.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.named().filter_map(|named| named.env)
    }

    /// All private files, each with a description.
    pub fn private_files(&self) -> Vec<PrivateFile> {
        let private = |what: &str, path| PrivateFile { what: what.to_owned(), path, is_folder: false };
        let own = self.file.clone().map(|file| private("the configuration", file));
        let log = self.audit().map(|audit| private("the audit log", audit.path));
        let store = self.store_file().map(|file| private("the store", file));
        let named = self.named().filter_map(|named| Some(private(&named.what, self.resolve(named.file?))));
        let of_users = self.secrets.iter().filter_map(|(name, secret)| {
            let path = secret.folder_of_all(self)?;
            Some(PrivateFile { what: format!("the users' secrets '{name}'"), path, is_folder: true })
        });
        let recordings = self.recording().map(|recording| recording.folder);
        let recordings =
            recordings.map(|path| PrivateFile { what: "the recordings".to_owned(), path, is_folder: true });
        own.into_iter().chain(log).chain(named).chain(of_users).chain(store).chain(recordings).collect()
    }
}
