//! Opens connections: looks up a target's addresses once, checks all of them, dials one of
//! them, and performs the TLS handshake for the target's name.
//!
//! Sends no request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::is_public;
use super::resolve::Resolve;
use super::target::{Host, Target};

/// Why there is no connection; without addresses, which are not for plugins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    #[error("the host's name has no address")]
    NoAddress,
    #[error("the host is not at a public address")]
    NotPublic,
    #[error("no connection: {0}")]
    Connect(String),
    #[error("no TLS connection: {0}")]
    Tls(String),
    #[error("the connection timed out")]
    Timeout,
}

/// A TCP or TLS stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The addresses of a host, if all of them are allowed: a private one among public ones indicates
/// DNS rebinding.
pub async fn addresses(resolver: &dyn Resolve, host: &Host, private: bool) -> Result<Vec<IpAddr>, DialError> {
    let found = match host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => resolver.resolve(name).await.map_err(|_| DialError::NoAddress)?,
    };
    if found.is_empty() {
        return Err(DialError::NoAddress);
    }
    if !private && !found.iter().copied().all(is_public) {
        return Err(DialError::NotPublic);
    }
    Ok(found)
}

/// Dials the addresses one after the other, each with an equal share of the remaining time.
pub async fn tcp(addresses: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, DialError> {
    let mut last = DialError::NoAddress;
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let until = Instant::now() + left / (addresses.len() - tried) as u32;
        last = match timeout_at(until, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // A request is one write, which Nagle's algorithm would only delay.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            // Only the kind: the full message may contain the address.
            Ok(Err(error)) => DialError::Connect(error.kind().to_string()),
            Err(_) => DialError::Timeout,
        };
    }
    Err(last)
}

/// Performs a TLS handshake, and verifies the certificate for that host.
pub async fn tls<S: Stream>(
    connector: &TlsConnector,
    stream: S,
    target: &Target,
    deadline: Instant,
) -> Result<impl Stream + use<S>, DialError> {
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|error| DialError::Tls(error.to_string()))?,
        Host::Address(address) => ServerName::from(*address),
    };
    match timeout_at(deadline, connector.connect(name, stream)).await {
        Ok(stream) => stream.map_err(|error| DialError::Tls(error.to_string())),
        Err(_) => Err(DialError::Timeout),
    }
}

/// Variables that name certificates, as for OpenSSL.
pub const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Trusts the system's root certificates, or those in `SSL_CERT_FILE` and `SSL_CERT_DIR`; without
/// any, Mozilla's. Blocks: it reads files.
pub fn connector() -> Result<TlsConnector, String> {
    let mut config = client_config(system_roots())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// What [`connector`] trusts. Blocks.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted == 0 {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// A client of TLS that trusts these roots, for any protocol.
pub fn client_config(roots: RootCertStore) -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
