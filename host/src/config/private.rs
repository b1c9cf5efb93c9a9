//! The host's own files that the configuration names. A folder that contains one must not be granted to
//! a plugin.

use super::Config;
use crate::plugin::PrivateFile;

impl Config {
    /// All private files, each with a description.
    pub fn private_files(&self) -> Vec<PrivateFile> {
        let http = &self.server.http;
        let named = |what: &str, path| PrivateFile { what: what.to_owned(), path, is_folder: false };
        let resolved = |what: &str, path: &_| named(what, self.resolve(path));
        let mut files = Vec::new();
        files.extend(self.file.clone().map(|file| named("the configuration", file)));
        files.extend(self.audit().map(|audit| named("the audit log", audit.path)));
        let key = self.server.state_key.iter().filter_map(|key| key.file.as_ref());
        files.extend(key.map(|file| resolved("the state key", file)));
        let tokens = http.tokens.iter().filter_map(|token| token.file.as_ref().map(|file| (&token.name, file)));
        files.extend(tokens.map(|(name, file)| resolved(&format!("the token of {name}"), file)));
        files.extend(self.client_secrets().map(|file| resolved("a client secret of OAuth", file)));
        let scrapers = self.metrics.token.iter().filter_map(|token| token.file.as_ref());
        files.extend(scrapers.map(|file| resolved("the token for metrics", file)));
        let collector = self.telemetry.token.iter().chain(self.telemetry.headers.values());
        let collector = collector.filter_map(|source| source.file.as_ref());
        files.extend(collector.map(|file| resolved("a secret of telemetry", file)));
        if let Some(tls) = &http.tls {
            files.extend([resolved("the certificate", &tls.cert), resolved("the certificate's key", &tls.key)]);
        }
        for (name, secret) in &self.secrets {
            if let Some(path) = secret.folder_of_all(self) {
                files.push(PrivateFile { what: format!("the users' secrets '{name}'"), path, is_folder: true });
            } else if let Some(file) = &secret.file {
                files.push(resolved(&format!("the secret '{name}'"), file));
            }
        }
        files.extend(self.private_files_of_store());
        files
    }
}
