//! From a target to a connection: its addresses looked up once, all of them checked, and one
//! of those dialled; over TLS under the target's own name.
//!
//! Nothing is said over the connection here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::failure::{Failure, Stage};
use super::resolve::Resolve;
use crate::plugin::policy::outbound::address::is_public;
use crate::plugin::policy::outbound::target::{Host, Target};

/// A connection, over TLS or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The addresses of a host, if it may be reached at all of them: one that is not public among
/// others is what a rebinding name looks like.
pub(super) async fn addresses(resolver: &dyn Resolve, host: &Host, private: bool) -> Result<Vec<IpAddr>, Failure> {
    let found = match host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => resolver.resolve(name).await.map_err(|_| Failure::NoAddress)?,
    };
    if found.is_empty() {
        return Err(Failure::NoAddress);
    }
    if !private && !found.iter().copied().all(is_public) {
        return Err(Failure::NotPublic);
    }
    Ok(found)
}

/// Dials the addresses one after the other, each with a fair share of the time that is left.
pub(super) async fn tcp(addresses: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, Failure> {
    let mut last = Failure::NoAddress;
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let until = Instant::now() + left / (addresses.len() - tried) as u32;
        last = match timeout_at(until, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // A request is one write: waiting for more to send only delays it.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            // The kind alone: the whole text may name the address.
            Ok(Err(error)) => Failure::Connect(error.kind().to_string()),
            Err(_) => Failure::Timeout(Stage::Connect),
        };
    }
    Err(last)
}

/// Shakes hands with whoever shows a certificate for that host.
pub(super) async fn tls(
    connector: &TlsConnector,
    stream: TcpStream,
    target: &Target,
    deadline: Instant,
) -> Result<impl Stream + use<>, Failure> {
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|error| Failure::Tls(error.to_string()))?,
        Host::Address(address) => ServerName::from(*address),
    };
    match timeout_at(deadline, connector.connect(name, stream)).await {
        Ok(shaken) => shaken.map_err(|error| Failure::Tls(error.to_string())),
        Err(_) => Err(Failure::Timeout(Stage::Connect)),
    }
}

/// Trusts what this machine trusts, or `SSL_CERT_FILE` and `SSL_CERT_DIR` name; and where there
/// is nothing, Mozilla's list. It reads files and takes its time.
pub(super) fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted == 0 {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
