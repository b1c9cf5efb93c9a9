//! TLS: a certificate chain and its key, read again when they are replaced.
//!
//! It asks clients for no certificates and speaks HTTP/1.1 only.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::os::changes::{Changes, Seen};
use crate::os::files::{self, Links};

/// Bytes of each of the files; a chain has some thousands.
const MAX_SIZE: u64 = 1 << 20;
/// Between two looks at the files. A change is read when it stands for one.
const LOOK: Duration = Duration::from_secs(1);

/// What a server shows and how it proves it.
#[derive(Clone)]
pub struct Tls {
    certificates: PathBuf,
    key: PathBuf,
    /// Of the files, since they were first read.
    files: Changes,
    current: Arc<ArcSwap<ServerConfig>>,
}

impl Tls {
    /// Reads PEM files: the server's certificate, those that lead to the root after it, and the
    /// key of the first.
    ///
    /// # Errors
    /// If a file cannot be read, holds no such thing, or the two do not belong together.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, String> {
        let files = Changes::of(vec![certificates.to_owned(), key.to_owned()], Links::Followed);
        let current = Arc::new(ArcSwap::from_pointee(config(certificates, key)?));
        Ok(Self { certificates: certificates.to_owned(), key: key.to_owned(), files, current })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }

    /// Reads the files again whenever they change, for those who connect from then on. What cannot
    /// be used changes nothing: the two may be replaced one after the other.
    pub(super) async fn follow(&self) -> Infallible {
        let mut files = self.files.clone();
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            if files.look() == Seen::Changed {
                files.read_again();
                self.read_again();
            }
        }
    }

    /// Reads the files again, for those who connect from then on.
    pub fn read_again(&self) {
        match config(&self.certificates, &self.key) {
            Ok(config) => {
                self.current.store(Arc::new(config));
                tracing::info!("read the certificate and its key again");
            }
            Err(error) => {
                tracing::error!("the certificate and its key stay as they were: failed to read them again: {error}");
            }
        }
    }
}

fn config(certificates: &Path, key: &Path) -> Result<ServerConfig, String> {
    let in_file = |path: &Path, error: &dyn std::fmt::Display| format!("{error}: {}", path.display());
    let read = |path: &Path| files::read(path, MAX_SIZE).map_err(|error| in_file(path, &error));
    let chain = CertificateDer::pem_slice_iter(&read(certificates)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| in_file(certificates, &error))?;
    if chain.is_empty() {
        return Err(in_file(certificates, &"there is no certificate in the file"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| in_file(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| in_file(certificates, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
