//! Which NATS it is, and how it is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::credentials::Credentials;
use crate::store::url::{UnusableUrl, is_local};

const PORT: u16 = 4222;
/// Hosts of a URL.
const MAX_HOSTS: usize = 16;
const MAX_BUCKET: usize = 64;
const FORM: &str = "write it like this: \"nats://wharf@nats.example/wharf\"; in names, @ is %40, : is %3A and / is %2F";

/// How NATS is reached. As text, also for debugging, it has no password.
#[derive(Clone)]
pub struct NatsSettings {
    pub(super) servers: Vec<Address>,
    /// In which the entries are.
    pub(super) bucket: String,
    /// Of the bucket, if this node creates it.
    pub(super) replicas: u8,
    pub(super) with_tls: bool,
    user: Option<String>,
    password: Option<String>,
    pub(super) credentials: Option<Credentials>,
    /// The only certificates to trust, in PEM; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// From the start of a connection to the first request.
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    /// How long a message stays that says that a key is gone: longer than any node takes to see it, or to begin anew.
    pub keep_removals: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

/// Who this is, as the server is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Login<'a> {
    Nobody,
    User(&'a str, &'a str),
    Token(&'a str),
}

impl NatsSettings {
    /// With default limits.
    ///
    /// # Errors
    /// If it is no URL of NATS with a host and a bucket, or would be used without TLS unasked.
    pub fn of_url(url: &str) -> Result<Self, UnusableUrl> {
        let wrong = |why, hint| UnusableUrl { why, hint };
        let malformed = || wrong("not a URL of NATS", FORM);
        let (scheme, rest) = url.split_once("://").ok_or_else(malformed)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, bucket) = rest.split_once('/').ok_or_else(|| wrong("needs a host and a bucket", FORM))?;
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let servers: Vec<Address> =
            hosts.split(',').map(Address::parse).collect::<Option<_>>().ok_or_else(malformed)?;
        if servers.len() > MAX_HOSTS {
            return Err(wrong("has more than 16 hosts", FORM));
        }
        let (mut replicas, mut tls) = (1, scheme == "tls" || !servers.iter().all(|server| is_local(&server.host)));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("replicas", count @ ("1" | "3" | "5"))) => replicas = count.as_bytes()[0] - b'0',
                Some(("replicas", _)) => return Err(wrong("has other replicas than 1, 3 or 5", "write replicas=3")),
                Some(("tls", "on")) => tls = true,
                Some(("tls", "off")) if scheme == "nats" => tls = false,
                _ => {
                    let hint =
                        "only replicas=3 is known, and tls=on or, on a network that nobody else can read, tls=off";
                    return Err(wrong("has something after the question mark that is not known", hint));
                }
            }
        }
        if bucket.is_empty() || bucket.len() > MAX_BUCKET || !bucket.bytes().all(is_of_name) {
            return Err(wrong("needs a bucket of letters, digits, _ and -, 64 at most", FORM));
        }
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, password)) => (decoded(user).ok_or_else(malformed)?, decoded(password).ok_or_else(malformed)?),
            None => Default::default(),
        };
        let some = |text: String| (!text.is_empty()).then_some(text);
        Ok(Self {
            servers,
            bucket: bucket.to_owned(),
            replicas,
            with_tls: tls,
            user: some(user),
            password: some(password),
            credentials: None,
            ca: None,
            connect_timeout: Self::TIMEOUT,
            request_timeout: Self::TIMEOUT,
            keep_removals: Duration::from_secs(10 * 60),
        })
    }

    /// The default of both timeouts.
    pub const TIMEOUT: Duration = Duration::from_secs(5);

    /// In place of one in the URL; of a URL without a user it is a token.
    pub fn set_password(&mut self, password: &str) {
        self.password = Some(password.to_owned());
    }

    /// In place of a user and a password: the text of a file as `nsc` and `nk` write them.
    ///
    /// # Errors
    /// If it is not.
    pub fn set_credentials(&mut self, text: &str) -> Result<(), &'static str> {
        self.credentials = Some(Credentials::parse(text)?);
        Ok(())
    }

    /// The key of the credentials, as the configuration of a server names it.
    pub fn public_key(&self) -> Option<String> {
        self.credentials.as_ref()?.sign("").ok().map(|(_, key)| key)
    }

    /// As tools of NATS read URLs: a user without a password is a token.
    pub(super) fn login(&self) -> Login<'_> {
        match (&self.user, &self.password) {
            (Some(user), Some(password)) => Login::User(user, password),
            (Some(token), None) | (None, Some(token)) => Login::Token(token),
            (None, None) => Login::Nobody,
        }
    }
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        // An address of IPv6 is in brackets.
        let (host, rest) = match text.strip_prefix('[') {
            Some(text) => text.split_once(']').filter(|(host, _)| host.contains(':'))?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match rest.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port > 0)?,
            None if rest.is_empty() => PORT,
            None => return None,
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
        (!host.is_empty() && host.bytes().all(is_host)).then(|| Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl fmt::Display for NatsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.with_tls { "tls://" } else { "nats://" })?;
        for (number, server) in self.servers.iter().enumerate() {
            write!(f, "{}{server}", if number > 0 { "," } else { "" })?;
        }
        write!(f, "/{}", self.bucket)
    }
}

impl fmt::Debug for NatsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// With `%XX` replaced; `None` if one is incomplete, or the text is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        if *first == b'%' {
            let (digits, more) = more.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = more;
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_reached_with_tls_unless_it_is_switched_off() {
        for (url, shown) in [
            ("nats://nats.example/wharf", "tls://nats.example:4222/wharf"),
            ("nats://wharf:p@10.0.0.7:5/wharf", "tls://10.0.0.7:5/wharf"),
            ("nats://nats.example/wharf?tls=off&replicas=3", "nats://nats.example:4222/wharf"),
            ("nats://a.example,b.example:7/wharf", "tls://a.example:4222,b.example:7/wharf"),
            ("nats://localhost/wharf", "nats://localhost:4222/wharf"),
            ("nats://127.0.0.1,nats.example/wharf", "tls://127.0.0.1:4222,nats.example:4222/wharf"),
            ("tls://[::1]:5432/wharf-2", "tls://[::1]:5432/wharf-2"),
            ("nats://[::1]/wharf?tls=on", "tls://[::1]:4222/wharf"),
        ] {
            assert_eq!(NatsSettings::of_url(url).expect(url).to_string(), shown);
        }
    }

    #[test]
    fn who_it_is_comes_from_the_url_or_the_settings() {
        let of = |url| NatsSettings::of_url(url).expect("a URL");
        assert_eq!(of("nats://a%40b:p%3aw@localhost/w").login(), Login::User("a@b", "p:w"));
        assert_eq!(of("nats://token@localhost/w").login(), Login::Token("token"));
        assert_eq!(of("nats://localhost/w").login(), Login::Nobody);
        let mut settings = of("nats://wharf@localhost/w");
        settings.set_password("other");
        assert_eq!(settings.login(), Login::User("wharf", "other"));
        let mut settings = of("nats://localhost/w");
        settings.set_password("token");
        assert_eq!(settings.login(), Login::Token("token"));
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_without_its_password() {
        for (url, why) in [
            ("nats://wharf:hunter2@nats.example", "needs a host and a bucket"),
            ("nats://wharf:hunter2@/wharf", "not a URL"),
            ("nats://wharf:hunter2@nats.example/", "needs a bucket"),
            ("nats://wharf:hunter2@nats.example/a.b", "needs a bucket"),
            ("nats://wharf:hunter2@nats.example:no/wharf", "not a URL"),
            ("nats://wharf:hunter2%4@nats.example/wharf", "not a URL"),
            ("nats://wharf:hunter2@nats.example/wharf?hunter2=1", "not known"),
            ("tls://wharf:hunter2@nats.example/wharf?tls=off", "not known"),
            ("nats://wharf:hunter2@nats.example/wharf?replicas=2", "other replicas"),
        ] {
            let error = format!("{:?}", NatsSettings::of_url(url).expect_err(url));
            assert!(error.contains(why) && !error.contains("hunter2"), "{url}: {error}");
        }
        let shown = NatsSettings::of_url("nats://wharf:hunter2@nats.example,[::1]:7/wharf").expect("a URL");
        assert_eq!(format!("{shown} {shown:?}").matches("hunter2").count(), 0);
    }
}
