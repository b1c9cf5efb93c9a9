//! The host's own files named in the configuration: no plugin may be granted a folder that contains
//! one of them.

use super::Config;
use crate::plugin::PrivateFile;

impl Config {
    /// All of them, each with what it is.
    pub fn private_files(&self) -> Vec<PrivateFile> {
        let http = &self.server.http;
        let named = |what: &str, path| PrivateFile { what: what.to_owned(), path };
        let beside = |what: &str, path: &_| named(what, self.beside(path));
        let mut files = Vec::new();
        files.extend(self.file.clone().map(|file| named("the configuration", file)));
        files.extend(self.audit().map(|audit| named("the audit log", audit.path)));
        let key = self.server.state_key.iter().filter_map(|key| key.file.as_ref());
        files.extend(key.map(|file| beside("the state key", file)));
        let tokens = http.tokens.iter().filter_map(|token| token.file.as_ref().map(|file| (&token.name, file)));
        files.extend(tokens.map(|(name, file)| beside(&format!("the token of {name}"), file)));
        if let Some(tls) = &http.tls {
            files.extend([beside("the certificate", &tls.cert), beside("the certificate's key", &tls.key)]);
        }
        let secrets = self.secrets.iter().filter_map(|(name, secret)| secret.file.as_ref().map(|file| (name, file)));
        files.extend(secrets.map(|(name, file)| beside(&format!("the secret '{name}'"), file)));
        files
    }
}
