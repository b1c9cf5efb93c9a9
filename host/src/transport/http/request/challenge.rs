//! Refusals of requests whose token is missing, wrong or not enough, with the challenge that tells a client
//! what to do. Source: RFC 6750, section 3; RFC 9728, section 5.1.

use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use crate::transport::http::responses::{ErrorResponse, Recorded};

/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 200;

/// What all challenges of a server say.
#[derive(Default)]
pub(super) struct Challenge {
    /// Where the metadata document is; nowhere without OAuth.
    metadata: Option<String>,
    /// What every request needs.
    scopes: String,
}

impl Challenge {
    /// `metadata` is the URL of the metadata document, `scopes` what every request needs. Neither has a
    /// character that would need an escape.
    pub(super) fn new(metadata: &str, scopes: &[String]) -> Self {
        Self { metadata: Some(metadata.to_owned()), scopes: scopes.join(" ") }
    }

    /// There is no token. Says nothing of an error: there is none yet (RFC 6750, section 3.1).
    pub(super) fn no_token(&self) -> ErrorResponse {
        let detail = "this server requires a bearer token in the Authorization header";
        let refusal = ErrorResponse::new(StatusCode::UNAUTHORIZED, "unauthorized", detail);
        refusal.with(WWW_AUTHENTICATE, self.value(None))
    }

    pub(super) fn invalid_token(&self, why: &str) -> ErrorResponse {
        let refusal = ErrorResponse::new(StatusCode::UNAUTHORIZED, "unauthorized", why);
        refusal.with(WWW_AUTHENTICATE, self.value(Some(("invalid_token", why)))).recorded(Recorded::Unauthorized)
    }

    /// The header for a request whose token was revoked while it ran.
    pub(super) fn revoked(&self) -> HeaderValue {
        self.value(Some(("invalid_token", "the bearer token was revoked")))
    }

    /// The token is not sent as it should be.
    pub(super) fn invalid_request(&self, why: &str) -> ErrorResponse {
        let refusal = ErrorResponse::new(StatusCode::BAD_REQUEST, "invalid_authorization", why);
        refusal.with(WWW_AUTHENTICATE, self.value(Some(("invalid_request", why)))).recorded(Recorded::Unauthorized)
    }

    pub(super) fn insufficient_scope(&self) -> ErrorResponse {
        let why = "the token does not have the scopes that this server requires";
        let refusal = ErrorResponse::new(StatusCode::FORBIDDEN, "insufficient_scope", why);
        refusal
            .with(WWW_AUTHENTICATE, self.value(Some(("insufficient_scope", why))))
            .recorded(Recorded::InsufficientScope)
    }

    /// The header for what needs these scopes too.
    pub(super) fn step_up(&self, scope: &str) -> HeaderValue {
        let own = self.scopes.split(' ').filter(|own| !own.is_empty() && !scope.split(' ').any(|other| other == *own));
        let all = own.chain([scope]).collect::<Vec<_>>().join(" ");
        let why = "the token does not have the scopes that this request needs";
        Self { metadata: self.metadata.clone(), scopes: all }.value(Some(("insufficient_scope", why)))
    }

    fn value(&self, error: Option<(&str, &str)>) -> HeaderValue {
        let error = error.map(|(error, why)| format!("error=\"{error}\", error_description=\"{}\"", quotable(why)));
        let metadata = self.metadata.as_ref().map(|url| format!("resource_metadata=\"{url}\""));
        let scope = (!self.scopes.is_empty()).then(|| format!("scope=\"{}\"", self.scopes));
        let parameters: Vec<String> = [error, metadata, scope].into_iter().flatten().collect();
        let text = format!("Bearer {}", parameters.join(", "));
        HeaderValue::from_str(text.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// It cannot be said whether the token is valid. Not 401: the client would log in again.
pub(super) fn unavailable(why: &str) -> ErrorResponse {
    let refusal = ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, "issuer_unavailable", why);
    refusal.header(RETRY_AFTER, "5")
}

pub(super) fn too_many_failures() -> ErrorResponse {
    let refusal = ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", "too many invalid tokens");
    refusal.header(RETRY_AFTER, "1").recorded(Recorded::TooManyFailures)
}

/// A text as it may be in a quoted string of a description (RFC 6750, section 3).
fn quotable(text: &str) -> String {
    let plain = |c: char| if matches!(c, ' '..='~') && !matches!(c, '"' | '\\') { c } else { '?' };
    text.chars().map(plain).take(MAX_DESCRIPTION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::Response;

    fn challenge(refusal: ErrorResponse) -> (u16, String) {
        let response = Response::from(refusal);
        (response.status().as_u16(), response.headers()[WWW_AUTHENTICATE].to_str().expect("a text").to_owned())
    }

    #[test]
    fn challenges_say_where_to_get_a_token_and_what_is_wrong() {
        let url = "https://a.example/.well-known/oauth-protected-resource/mcp";
        let ours = Challenge::new(url, &["mcp".into(), "more".into()]);
        let rest = format!("resource_metadata=\"{url}\", scope=\"mcp more\"");
        assert_eq!(challenge(ours.no_token()), (401, format!("Bearer {rest}")));
        let invalid = challenge(ours.invalid_token("the token has expired"));
        assert_eq!(
            invalid,
            (401, format!("Bearer error=\"invalid_token\", error_description=\"the token has expired\", {rest}"))
        );
        let (status, text) = challenge(ours.invalid_request("two"));
        assert_eq!((status, text.starts_with("Bearer error=\"invalid_request\"")), (400, true));
        let (status, text) = challenge(ours.insufficient_scope());
        assert_eq!((status, text.starts_with("Bearer error=\"insufficient_scope\"")), (403, true));
        assert!(text.ends_with(&rest), "{text}");
        let step_up = ours.step_up("notes:write mcp");
        let step_up = step_up.to_str().expect("a text");
        assert!(
            step_up.starts_with("Bearer error=\"insufficient_scope\"")
                && step_up.ends_with(", scope=\"more notes:write mcp\""),
            "{step_up}"
        );
    }

    #[test]
    fn without_oauth_there_is_nothing_to_say_but_the_scheme() {
        let ours = Challenge::default();
        assert_eq!(challenge(ours.no_token()), (401, "Bearer".to_owned()));
        assert_eq!(challenge(ours.invalid_token("no")).1, "Bearer error=\"invalid_token\", error_description=\"no\"");
        assert_eq!(challenge(Challenge::new("u", &[]).no_token()).1, "Bearer resource_metadata=\"u\"");
    }

    #[test]
    fn a_description_ends_no_quoted_string_and_no_header() {
        let (_, text) = challenge(Challenge::default().invalid_token("a\"b\\c\r\nd\u{e9}"));
        assert_eq!(text, "Bearer error=\"invalid_token\", error_description=\"a?b?c??d?\"");
        let (_, text) = challenge(Challenge::default().invalid_token(&"x".repeat(10_000)));
        assert!(text.len() < 300, "{}", text.len());
    }
}
