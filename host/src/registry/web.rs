//! A component at a URL, without a registry.

use std::path::Path;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Uri};
use http_body_util::Full;
use tokio::time::Instant;

use super::digest::{Hasher, Sha256};
use super::error::RegistryError;
use super::http::{Http, NamedBy, WHOLE, target_of};
use crate::os::private;

const MAX_REDIRECTS: usize = 5;

/// Downloads what is at a URL into a file, of at most `limit` bytes. Redirects lead to public addresses with TLS.
///
/// # Errors
/// If it cannot be had.
pub async fn download(
    http: &Http,
    uri: &Uri,
    file: &Path,
    limit: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Sha256, RegistryError> {
    let first = target_of(uri)?;
    let by = first.authority();
    let (mut at, mut target) = (uri.clone(), first.clone());
    for _ in 0..=MAX_REDIRECTS {
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = at.clone();
        let agent = HeaderValue::from_static(concat!("wharf/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(header::USER_AGENT, agent);
        let named = if target == first { NamedBy::Person } else { NamedBy::Server(&by) };
        let mut received = http.send(request, &target, named).await?;
        let status = received.response.status();
        if status.is_success() {
            let what = "the component";
            if received.length().is_some_and(|length| length > limit) {
                return Err(RegistryError::TooLarge { what, limit });
            }
            let (mut bytes, mut hasher) = (Vec::new(), Hasher::default());
            let until = Instant::now() + WHOLE;
            while let Some(part) = received.next().await? {
                if Instant::now() > until {
                    return Err(RegistryError::TooSlow { host: target.authority() });
                }
                if (bytes.len() + part.len()) as u64 > limit {
                    return Err(RegistryError::TooLarge { what, limit });
                }
                hasher.update(&part);
                bytes.extend_from_slice(&part);
                progress(bytes.len() as u64);
            }
            private::write(file, &[&bytes], private::Durability::Deferred)?;
            return Ok(hasher.finish());
        }
        let location = received.response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let Some(location) = location.filter(|_| status.is_redirection()) else {
            return Err(RegistryError::Status { host: target.authority(), status, message: String::new() });
        };
        let location = if location.starts_with('/') { format!("{target}{location}") } else { location.to_owned() };
        let invalid = || RegistryError::Protocol(format!("{} redirected to an invalid URL", target.authority()));
        at = location.parse().map_err(|_| invalid())?;
        target = target_of(&at)?;
        if !target.https {
            return Err(RegistryError::Protocol(format!("{by} led to a server without TLS: {}", target.authority())));
        }
    }
    Err(RegistryError::Protocol(format!("{by} redirected more than {MAX_REDIRECTS} times")))
}
