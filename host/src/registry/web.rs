//! A component at a URL, without a registry.

use std::path::Path;

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;

use super::digest::Sha256;
use super::error::RegistryError;
use super::{MAX_REDIRECTS, WHOLE};
use crate::net::http::{Http, NamedBy, target_of};
use crate::os::private;

/// Downloads what is at a URL into a file, of at most `limit` bytes. Redirects lead to public addresses with TLS.
///
/// # Errors
/// If it cannot be had.
pub async fn download(http: &Http, uri: &Uri, file: &Path, limit: u64) -> Result<Sha256, RegistryError> {
    let first = target_of(uri)?;
    let by = first.authority();
    let (mut at, mut target) = (uri.clone(), first.clone());
    for _ in 0..=MAX_REDIRECTS {
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = at;
        let named = if target == first { NamedBy::Person } else { NamedBy::Server(&by) };
        let received = http.send(request, &target, named).await?;
        let status = received.response.status();
        if status.is_success() {
            let bytes = received.whole("the component", limit, WHOLE).await?;
            private::write(file, &[&bytes], private::Durability::Deferred)?;
            return Ok(Sha256::of(&bytes));
        }
        let Some(redirection) = received.redirection(&target)? else {
            return Err(RegistryError::Status { host: target.authority(), status, message: String::new() });
        };
        (at, target) = redirection;
    }
    Err(RegistryError::protocol(format!("{by} redirected more than {MAX_REDIRECTS} times")))
}
