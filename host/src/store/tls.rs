//! TLS of the host for connections to stores.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use crate::net::dial::{client_config, system_roots};

/// Bytes of a file of certificates.
const MAX_SIZE: u64 = 1 << 20;

/// What an operator does about an error of [`connector`].
pub(super) const SET_CA: &str = "set store.ca to a file that can be read";

/// Trusts the certificates of the file, or else those of the system. Blocks.
///
/// # Errors
/// If they cannot be read.
pub(super) fn connector(ca: Option<&Path>) -> Result<TlsConnector, String> {
    let roots = match ca {
        Some(file) => roots_in(file)?,
        None => system_roots(),
    };
    Ok(TlsConnector::from(Arc::new(client_config(roots)?)))
}

fn roots_in(file: &Path) -> Result<RootCertStore, String> {
    let metadata = std::fs::metadata(file).map_err(|error| format!("read its certificates: {error}"))?;
    if metadata.len() > MAX_SIZE {
        return Err(format!("its certificates are more than {MAX_SIZE} bytes"));
    }
    let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = certificates.map_err(|error| format!("read its certificates: {error}"))?;
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(certificates);
    if trusted == 0 { Err("there are no certificates in the file of store.ca".into()) } else { Ok(roots) }
}
