//! TLS of the host for connections to PostgreSQL.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::settings::PostgresSettings;
use crate::store::tls::connector;

/// Makes connections of TLS; without a connector there are none.
#[derive(Clone)]
pub(super) struct Tls(Option<TlsConnector>);

impl Tls {
    /// Reads the trusted certificates: those of the system, or of the file. Blocks.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn of(settings: &PostgresSettings) -> Result<Self, String> {
        if !settings.has_tls() {
            return Ok(Self(None));
        }
        connector(settings.ca.as_deref()).map(|connector| Self(Some(connector)))
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        // Asked for before it is known whether it is used.
        let Some(connector) = self.0.clone() else { return Ok(Handshake(None)) };
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake(Some((connector, name))))
    }
}

/// A handshake with the server of that name.
pub(super) struct Handshake(Option<(TlsConnector, ServerName<'static>)>);

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> TlsConnect<S> for Handshake {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let (connector, name) = self.0.ok_or_else(|| io::Error::other("TLS is switched off"))?;
            connector.connect(name, stream).await.map(|stream| Stream(Box::new(stream)))
        })
    }
}

/// A stream over TLS.
pub(super) struct Stream<S>(Box<TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    /// The certificate has been verified, and for the name: no binding is needed.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
