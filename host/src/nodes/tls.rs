//! TLS 1.3 between nodes, with bare keys on both sides in place of certificates (RFC 7250): a node is known by its key.

use std::io;
use std::sync::{Arc, OnceLock};

use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use tokio::net::TcpStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature_with_raw_key};
use tokio_rustls::rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::NodeId;

/// The key of this node.
pub(super) struct OwnKey {
    pub(super) id: NodeId,
    provider: Arc<CryptoProvider>,
    key: Arc<CertifiedKey>,
    acceptor: TlsAcceptor,
}

impl OwnKey {
    pub(super) fn generate() -> io::Result<Self> {
        let secret = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| io::Error::other("the system's random number generator failed"))?;
        let provider = Arc::new(provider::default_provider());
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(secret.as_ref().to_vec()));
        let key = provider.key_provider.load_private_key(secret).map_err(io::Error::other)?;
        let public = key.public_key().ok_or_else(|| io::Error::other("a key without a public part"))?.to_vec();
        let id = NodeId::of(&public);
        let key = Arc::new(CertifiedKey::new(vec![CertificateDer::from(public)], key));
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_client_cert_verifier(Arc::new(Peer::new(None, provider.clone())))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key.clone())));
        // A session that is resumed would not be verified again.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Self { id, provider, key, acceptor: TlsAcceptor::from(Arc::new(server)) })
    }

    /// As the client of that node.
    ///
    /// # Errors
    /// With an [`OtherNode`] inside, if the other side shows another key.
    pub(super) async fn connect(&self, node: NodeId, stream: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
        let peer = Arc::new(Peer::new(Some(node), self.provider.clone()));
        let mut config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(peer.clone())
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(self.key.clone())));
        config.resumption = Resumption::disabled();
        // Not looked at: it is the key that counts.
        let name = ServerName::try_from("node").map_err(io::Error::other)?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        connected.map_err(|error| match peer.other.get() {
            Some(other) => io::Error::new(io::ErrorKind::InvalidData, OtherNode(*other)),
            None => error,
        })
    }

    /// As the server of another node, which is to be looked up.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<(NodeId, server::TlsStream<TcpStream>)> {
        let stream = self.acceptor.accept(stream).await?;
        let keys = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let key = keys.first().ok_or_else(|| io::Error::other("it has no key"))?;
        Ok((NodeId::of(key), stream))
    }
}

/// Another node than the one that is meant has shown its key. It was not asked to prove that it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another node listens there: {0}")]
pub(super) struct OtherNode(pub(super) NodeId);

impl OtherNode {
    /// That inside an error of [`OwnKey::connect`].
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// Verifies that the other side has the key that it shows; `expected`: and that it is the one of that node.
#[derive(Debug)]
struct Peer {
    expected: Option<NodeId>,
    /// The one that has shown a key in its place.
    other: OnceLock<NodeId>,
    provider: Arc<CryptoProvider>,
}

impl Peer {
    fn new(expected: Option<NodeId>, provider: Arc<CryptoProvider>) -> Self {
        Self { expected, other: OnceLock::new(), provider }
    }

    fn check(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = NodeId::of(key);
        match self.expected {
            Some(expected) if shown != expected => {
                self.other.get_or_init(|| shown);
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(()),
        }
    }

    fn verify(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.provider.signature_verification_algorithms)
    }

    /// TLS 1.2 is not negotiated.
    fn refuse() -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(tokio_rustls::rustls::PeerIncompatible::Tls12NotOffered))
    }
}

impl ServerCertVerifier for Peer {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(key).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::refuse()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Peer {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(key).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::refuse()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
