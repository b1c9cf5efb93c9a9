//! An authorization server of a test, which signs any token, and servers that accept its tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use wharf::oauth::{IssuerSettings, OAuthSettings, Verifier};
use wharf::transport::http::{OAuth, Settings};

use crate::support::http::Request;
use crate::support::site::{Site, write};

/// What clients are given as the address of the server.
pub(super) const RESOURCE: &str = "https://tools.example/mcp";
pub(super) const SCOPE: &str = "mcp";
const KEY: &str = "key-1";

pub(super) struct Issuer {
    site: Site,
    key: Ed25519KeyPair,
    is_up: Arc<AtomicBool>,
}

impl Issuer {
    pub(super) fn start() -> Self {
        Self::new(true)
    }

    /// As long as it is down, it answers nothing but errors.
    pub(super) fn down() -> Self {
        Self::new(false)
    }

    fn new(is_up: bool) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
        let public = json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key()), "kid": KEY, "use": "sig"});
        let keys = json!({"keys": [public]}).to_string();
        let is_up = Arc::new(AtomicBool::new(is_up));
        let up = is_up.clone();
        let site = Site::start(move |head, connection| {
            let (path, host) = (head.split(' ').nth(1).unwrap_or_default(), field(head));
            let issuer = format!("http://{host}");
            let kind = "Content-Type: application/json\r\n";
            match path {
                _ if !up.load(Ordering::SeqCst) => write(connection, "503 Service Unavailable", "", ""),
                "/.well-known/oauth-authorization-server" => write(connection, "200 OK", kind, &metadata(&issuer)),
                "/keys" => write(connection, "200 OK", kind, &keys),
                _ => write(connection, "404 Not Found", "", ""),
            }
        });
        Self { site, key, is_up }
    }

    pub(super) fn set_up(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::SeqCst);
    }

    /// As in the tokens.
    pub(super) fn url(&self) -> String {
        self.site.url("")
    }

    /// Its metadata document.
    pub(super) fn metadata(&self) -> String {
        metadata(&self.url())
    }

    /// The claims of a token that is accepted.
    pub(super) fn claims(&self, subject: &str) -> Value {
        json!({"iss": self.url(), "aud": RESOURCE, "sub": subject, "scope": SCOPE, "iat": now(0), "exp": now(300)})
    }

    pub(super) fn token(&self, subject: &str) -> String {
        self.sign(&self.claims(subject))
    }

    /// A token that is accepted for about so many seconds: the server allows clocks to differ by a minute.
    pub(super) fn short_token(&self, subject: &str, seconds: i64) -> String {
        self.with(subject, "exp", json!(now(seconds - 60)))
    }

    /// With another value of a claim, or without it.
    pub(super) fn with(&self, subject: &str, claim: &str, value: Value) -> String {
        let mut claims = self.claims(subject);
        match value {
            Value::Null => drop(claims.as_object_mut().expect("an object").remove(claim)),
            value => claims[claim] = value,
        }
        self.sign(&claims)
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&json!({"alg": "EdDSA", "kid": KEY, "typ": "at+jwt"}), claims)
    }

    pub(super) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        format!("{signed}.{}", encode(self.key.sign(signed.as_bytes())))
    }

    /// The settings of a server that accepts its tokens.
    pub(super) fn settings(&self) -> Settings {
        let issuers = vec![IssuerSettings::new(self.url())];
        Settings { oauth: Some(Arc::new(self.oauth(issuers))), sse: true, ..Settings::default() }
    }

    pub(super) fn oauth(&self, issuers: Vec<IssuerSettings>) -> OAuth {
        OAuth {
            verifier: Verifier::new(OAuthSettings { resource: RESOURCE.into(), issuers }),
            resource: RESOURCE.into(),
            issuers: vec![self.url()],
            scopes: vec![SCOPE.into()],
            name: Some("Tools".into()),
            documentation: None,
            legacy_metadata: false,
            carries_tokens: AtomicBool::new(false),
        }
    }
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Seconds since 1970, so many later.
pub(super) fn now(later: i64) -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("some time is left") + later
}

/// A request with that token.
pub(super) fn by(request: Request, token: &str) -> Request {
    request.set("Authorization", &format!("Bearer {token}"))
}

fn metadata(issuer: &str) -> String {
    json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys"), "token_endpoint": format!("{issuer}/token")})
        .to_string()
}

/// The host that was asked.
fn field(head: &str) -> &str {
    crate::support::site::field(head, "host").unwrap_or_default()
}
