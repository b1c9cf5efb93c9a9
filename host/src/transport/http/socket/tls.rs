//! TLS: a certificate chain and its key, reloaded when they are replaced.
//!
//! It does not request client certificates, and negotiates HTTP/1.1 only.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, ServerConfig};
use wharf_report::ShowPath as _;

use crate::os::changes::{Changes, Status};
use crate::os::files::{FileError, Links};
use crate::os::private;
use crate::sync::lock;

/// Maximum bytes of each file; a chain has a few thousand.
const MAX_SIZE: u64 = 1 << 20;
/// A change is loaded when the files are the same at two polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The server's certificate chain and private key.
#[derive(Clone)]
pub struct Tls {
    certificates: PathBuf,
    key: PathBuf,
    /// Changes since the files were first read.
    files: Changes,
    current: Arc<ArcSwap<ServerConfig>>,
    /// Why the files could not be read now, as it was logged: they are read again until they can.
    unread: Arc<Mutex<Option<String>>>,
}

/// Why there is no certificate.
struct Unusable {
    why: String,
    /// A temporary error: read again later.
    temporary: bool,
}

impl Tls {
    /// Reads PEM files: the server's certificate followed by its intermediates, and the server's key.
    ///
    /// # Errors
    /// If a file cannot be read or parsed, other users can write it, or the key does not belong to the certificate.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, String> {
        let files = Changes::of(vec![certificates.to_owned(), key.to_owned()], Links::Followed);
        let current = Arc::new(ArcSwap::from_pointee(config(certificates, key).map_err(|unusable| unusable.why)?));
        let (certificates, key) = (certificates.to_owned(), key.to_owned());
        Ok(Self { certificates, key, files, current, unread: Arc::default() })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }

    /// Reloads the files whenever they change. On an error the old ones stay: the two files may be
    /// replaced one after the other.
    pub(super) async fn follow(&self) -> Infallible {
        let mut files = self.files.clone();
        let mut polls = tokio::time::interval(POLL_INTERVAL);
        loop {
            polls.tick().await;
            if files.poll() == Status::Changed || self.unread().is_some() {
                files.mark_read();
                self.reload();
            }
        }
    }

    /// Reloads the files for new connections. On an error the old ones stay.
    pub fn reload(&self) {
        match config(&self.certificates, &self.key) {
            Ok(config) => {
                *self.unread() = None;
                self.current.store(Arc::new(config));
                tracing::info!("TLS certificate and key reloaded");
            }
            Err(Unusable { why, temporary }) => {
                let unread = temporary.then(|| why.clone());
                let before = std::mem::replace(&mut *self.unread(), unread.clone());
                if unread.is_none() || unread != before {
                    tracing::error!("TLS certificate and key unchanged: failed to reload: {why}");
                }
            }
        }
    }

    fn unread(&self) -> MutexGuard<'_, Option<String>> {
        lock(&self.unread)
    }
}

fn config(certificates: &Path, key: &Path) -> Result<ServerConfig, Unusable> {
    let in_file = |path: &Path, error: &dyn std::fmt::Display| Unusable {
        why: format!("{error}: {}", path.shown()),
        temporary: false,
    };
    let read = |path: &Path| {
        let failed = |error: FileError| Unusable { temporary: error.is_temporary(), ..in_file(path, &error) };
        private::read(path, MAX_SIZE).map_err(failed)
    };
    let chain = CertificateDer::pem_slice_iter(&read(certificates)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| in_file(certificates, &error))?;
    if chain.is_empty() {
        return Err(in_file(certificates, &"the file has no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| in_file(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                in_file(key, &format!("the key does not belong to the certificate in {}", certificates.shown()))
            }
            error => in_file(certificates, &error),
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
