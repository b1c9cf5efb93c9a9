//! From claims, of a JWT or of an introspection response, to what they grant.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::clock::Now;
use super::refusal::Refusal;
use super::settings::IssuerSettings;
use crate::identity::{AccessGrant, Claims, claim_at};

/// How much the clocks of issuer and server may differ, in seconds.
pub(super) const LEEWAY: f64 = 60.0;
/// The last second of the year 9999; later times are mistakes, such as milliseconds.
const LATEST: f64 = 253_402_300_799.0;
/// How long a response to an introspection that has no `exp` vouches, in seconds.
const VOUCHED: f64 = 600.0;
/// Bytes of a subject: it is part of keys and records. OpenID Connect allows as many.
const MAX_SUBJECT: usize = 255;
const MAX_SCOPES: usize = 256;
const MAX_GROUPS: usize = 512;
/// Bytes of a scope or a group.
const MAX_WORD: usize = 256;

/// Members that tell other tokens of an issuer from access tokens: ID tokens, and notices of logouts and other events.
const OF_OTHER_TOKENS: [&str; 4] = ["nonce", "at_hash", "c_hash", "events"];
/// Types of other tokens in `typ` (Keycloak) or `token_use` (Cognito, Hydra).
const OTHER_TYPES: [&str; 7] = ["ID", "Refresh", "Offline", "Logout", "id", "id_token", "refresh_token"];
/// What `token_type` of an introspection response may be, in any case: issuers say of refresh tokens too that they are
/// active, and some leave the type out for these alone.
const BEARER_TYPES: [&str; 3] = ["bearer", "access_token", "access"];

/// What vouches for claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vouched {
    /// A signature, and the claims are all there is.
    Signature,
    /// The issuer itself, asked about this token by this server: it need not say again who it is, or for whom the token is.
    Introspection,
}

/// What claims are checked against.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a Arc<str>,
    /// The URI of this server.
    pub(super) resource: &'a str,
    pub(super) settings: &'a IssuerSettings,
}

/// What a token grants, and until when it holds, in seconds since 1970 and with the leeway.
pub(super) struct Granted {
    pub(super) grant: AccessGrant,
    pub(super) until: f64,
}

impl Expected<'_> {
    /// Checks claims.
    ///
    /// # Errors
    /// If they are not those of an access token for this server that holds now.
    pub(super) fn check(&self, claims: Map<String, Value>, vouched: Vouched, now: Now) -> Result<Granted, Refusal> {
        self.check_issuer(&claims, vouched)?;
        self.check_audience(&claims, vouched)?;
        self.check_type(&claims, vouched)?;
        let expires = check_times(&claims, vouched, now)?;
        let grant = grant(claims, self.issuer, self.settings, expires)?;
        Ok(Granted { grant, until: expires + LEEWAY })
    }

    fn check_issuer(&self, claims: &Map<String, Value>, vouched: Vouched) -> Result<(), Refusal> {
        match text(claims, "iss")? {
            Some(issuer) if *issuer == **self.issuer => Ok(()),
            None if vouched == Vouched::Introspection => Ok(()),
            _ => Err(Refusal::invalid("the token is of an issuer that is not accepted")),
        }
    }

    fn check_audience(&self, claims: &Map<String, Value>, vouched: Vouched) -> Result<(), Refusal> {
        let is_own = |name: &str| name == self.resource || self.settings.audiences.iter().any(|own| own == name);
        let accepted = match claims.get("aud") {
            Some(Value::String(audience)) => is_own(audience),
            Some(Value::Array(audiences)) => {
                audiences.iter().all(Value::is_string) && audiences.iter().filter_map(Value::as_str).any(is_own)
            }
            Some(_) => false,
            None => vouched == Vouched::Introspection,
        };
        if accepted { Ok(()) } else { Err(Refusal::invalid("the token is for another audience than this server")) }
    }

    fn check_type(&self, claims: &Map<String, Value>, vouched: Vouched) -> Result<(), Refusal> {
        if claims.contains_key("cnf") {
            return Err(Refusal::invalid("the token is bound to a key, whose proof is not supported"));
        }
        let is_other =
            |name: &str| claims.get(name).and_then(Value::as_str).is_some_and(|kind| OTHER_TYPES.contains(&kind));
        let has_other = match vouched {
            Vouched::Signature => OF_OTHER_TOKENS.iter().any(|name| claims.contains_key(*name)),
            Vouched::Introspection => text(claims, "token_type")?
                .is_some_and(|kind| !BEARER_TYPES.iter().any(|bearer| kind.eq_ignore_ascii_case(bearer))),
        };
        if has_other || is_other("typ") || is_other("token_use") {
            return Err(Refusal::invalid("the token is no access token"));
        }
        let may_be_untyped = self.settings.introspection.as_ref().is_none_or(|settings| settings.untyped);
        let is_typed = ["token_type", "typ", "token_use"].iter().any(|name| claims.contains_key(*name));
        if vouched == Vouched::Introspection && !is_typed && !may_be_untyped {
            return Err(Refusal::invalid("the issuer does not say that the token is an access token"));
        }
        Ok(())
    }
}

/// What claims grant, whether they hold or not: who, through which client, with which scopes and groups.
///
/// # Errors
/// If they name nobody, or exceed a limit.
pub fn grant(
    claims: Map<String, Value>,
    issuer: &Arc<str>,
    settings: &IssuerSettings,
    expires: f64,
) -> Result<AccessGrant, Refusal> {
    let subject = subject(&claims, settings)?.into();
    let client = text(&claims, "client_id")?.or(text(&claims, "azp")?).map(Arc::from);
    let groups = words(claim_at(&claims, &settings.groups_claim), "groups", MAX_GROUPS, false)?;
    Ok(AccessGrant {
        issuer: Arc::clone(issuer),
        subject,
        client,
        scopes: scopes(&claims, settings)?.into(),
        groups: groups.into(),
        expires: UNIX_EPOCH + Duration::from_secs_f64(expires),
        claims: Claims::new(&claims),
    })
}

/// A machine without a `sub` is `client:ID`: whoever can register a client with an ID of their choice is not the user
/// of that name (RFC 9700, section 4.15).
fn subject(claims: &Map<String, Value>, settings: &IssuerSettings) -> Result<String, Refusal> {
    let claim = &*settings.subject_claim;
    // Another claim was chosen because all have it: another name in its place could be that of somebody else.
    let stand_ins: &[&str] = if claim == "sub" { &["client_id", "azp"] } else { &[] };
    let mut found = text(claims, claim)?.map(str::to_owned);
    for name in stand_ins {
        if found.is_none() {
            found = text(claims, name)?.filter(|id| !id.is_empty()).map(|id| format!("client:{id}"));
        }
    }
    match found {
        Some(subject) if subject.len() > MAX_SUBJECT => {
            Err(Refusal::invalid(format!("the subject of the token has more than {MAX_SUBJECT} bytes")))
        }
        Some(subject) if !subject.is_empty() => Ok(subject),
        _ => Err(Refusal::invalid(format!("the token names no subject in {claim}"))),
    }
}

fn scopes(claims: &Map<String, Value>, settings: &IssuerSettings) -> Result<Vec<Box<str>>, Refusal> {
    let own = settings.scope_claim.as_deref();
    let own = own.filter(|own| !matches!(*own, "scope" | "scp")).and_then(|own| claim_at(claims, own));
    let prefix = settings.scope_prefix.as_deref().unwrap_or_default();
    let mut all: Vec<Box<str>> = Vec::new();
    for claim in [claims.get("scope"), claims.get("scp"), own] {
        for scope in words(claim, "scopes", MAX_SCOPES, true)? {
            let scope = format!("{prefix}{scope}").into_boxed_str();
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
    }
    if all.len() > MAX_SCOPES {
        return Err(too_many("scopes", MAX_SCOPES));
    }
    Ok(all)
}

/// When the token expires, in seconds since 1970.
fn check_times(claims: &Map<String, Value>, vouched: Vouched, now: Now) -> Result<f64, Refusal> {
    let expires = match seconds(claims, "exp")? {
        Some(expires) => expires,
        None if vouched == Vouched::Introspection => now.unix + VOUCHED,
        None => return Err(Refusal::invalid("the token has no exp")),
    };
    if now.unix >= expires + LEEWAY {
        return Err(Refusal::invalid("the token has expired"));
    }
    for name in ["nbf", "iat"] {
        if seconds(claims, name)?.is_some_and(|from| now.unix + LEEWAY < from) {
            return Err(Refusal::invalid(format!("the token is not valid yet: its {name} is in the future")));
        }
    }
    Ok(expires)
}

/// A time in seconds since 1970.
fn seconds(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let number = value.as_number().and_then(serde_json::Number::as_f64);
    match number.filter(|number| (0.0..=LATEST).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(Refusal::invalid(format!("the {name} of the token is no time in seconds"))),
    }
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Refusal> {
    match claims.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Refusal::invalid(format!("{name} of the token is no text"))),
    }
}

/// The texts of a claim: of an array, of one text, or, if `spaced`, of one text with spaces between them.
fn words(claim: Option<&Value>, what: &str, most: usize, spaced: bool) -> Result<Vec<Box<str>>, Refusal> {
    let found: Vec<&str> = match claim {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) if spaced => text.split(' ').take(most + 1).collect(),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items
            .iter()
            .take(most + 1)
            .map(|item| item.as_str().ok_or_else(|| Refusal::invalid(format!("the {what} of the token are no texts"))))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(Refusal::invalid(format!("the {what} of the token are no texts"))),
    };
    if found.len() > most {
        return Err(too_many(what, most));
    }
    if found.iter().any(|word| word.len() > MAX_WORD) {
        return Err(Refusal::invalid(format!("one of the {what} of the token has more than {MAX_WORD} bytes")));
    }
    Ok(found.into_iter().filter(|word| !word.is_empty()).map(Box::from).collect())
}

fn too_many(what: &str, most: usize) -> Refusal {
    Refusal::invalid(format!("the token has more than {most} {what}"))
}
