//! TLS: a certificate chain and its key, read once.
//!
//! It asks clients for no certificates and speaks HTTP/1.1 only.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a server shows and how it proves it.
#[derive(Clone)]
pub struct Tls(pub(super) TlsAcceptor);

impl Tls {
    /// Reads PEM files: the server's certificate, those that lead to the root after it, and the
    /// key of the first.
    ///
    /// # Errors
    /// If a file cannot be read, holds no such thing, or the two do not belong together.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, String> {
        let in_file = |path: &Path, error: &dyn std::fmt::Display| format!("{error}: {}", path.display());
        let chain = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| in_file(certificates, &error))?;
        if chain.is_empty() {
            return Err(in_file(certificates, &"there is no certificate in the file"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| in_file(key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|error| in_file(certificates, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}
