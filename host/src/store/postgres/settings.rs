//! Which PostgreSQL it is, and how it is reached.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::store::url::{self, UnusableUrl};

/// How soon the system looks whether a silent server is there still.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// As the operator sees who is connected.
const APPLICATION: &str = "wharf";

/// How PostgreSQL is reached. As text, also for debugging, it has no password.
#[derive(Clone)]
pub struct PostgresSettings {
    pub(super) server: Config,
    /// The only certificates to trust, in PEM; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// From the start of a connection to the first request.
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    /// The most at the same time, without the one that watches.
    pub connections: u32,
}

const FORM: &str =
    "write it like this: \"postgres://wharf@db.example/wharf\"; in names, @ is %40, : is %3A and / is %2F";

impl PostgresSettings {
    /// With default limits.
    ///
    /// # Errors
    /// If it is no URL of PostgreSQL with a host, a user and a database, or would be used without TLS unasked.
    pub fn of_url(url: &str) -> Result<Self, UnusableUrl> {
        let wrong = |why, hint| UnusableUrl { why, hint };
        let (server, mode) = without_mode(url);
        // What the parser says of it may repeat a password.
        let mut server = Config::from_str(&server).map_err(|_| wrong("not a URL of PostgreSQL", FORM))?;
        let hosts = server.get_hosts();
        if hosts.is_empty() || server.get_user().is_none() || server.get_dbname().is_none() {
            return Err(wrong("needs a user, a host and a database", FORM));
        }
        // A password with a slash ends the part in which it is.
        if server.get_dbname().is_some_and(|name| name.contains(['@', '/', ':'])) {
            return Err(wrong("has a database that looks like the rest of a password", FORM));
        }
        // A password with an @ ends where the parser takes a host to begin.
        if hosts.iter().any(|host| matches!(host, Host::Tcp(name) if name.contains('@'))) {
            return Err(wrong("has a host that looks like the rest of a password", FORM));
        }
        let local = hosts.iter().all(is_local) && server.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let with_tls = match mode.as_deref() {
            None => !local,
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(_) => {
                let hint = "write sslmode=verify-full, or sslmode=disable on a network that nobody else can read";
                return Err(wrong("its sslmode would go on without TLS if the server has none", hint));
            }
        };
        if hosts.len() > 1 {
            // The others are replicas, which cannot be written.
            server.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        server
            .ssl_mode(if with_tls { SslMode::Require } else { SslMode::Disable })
            .application_name(APPLICATION)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE / 4)
            .keepalives_retries(3);
        Ok(Self {
            server,
            ca: None,
            connect_timeout: Self::TIMEOUT,
            request_timeout: Self::TIMEOUT,
            connections: Self::CONNECTIONS,
        })
    }

    /// The default of both timeouts.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    pub const CONNECTIONS: u32 = 4;
    pub const MAX_CONNECTIONS: u32 = 64;

    /// In place of one in the URL.
    pub fn set_password(&mut self, password: &str) {
        self.server.password(password);
    }

    pub(super) fn has_tls(&self) -> bool {
        self.server.get_ssl_mode() == SslMode::Require
    }
}

impl fmt::Display for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        let ports = self.server.get_ports();
        for (number, host) in self.server.get_hosts().iter().enumerate() {
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            f.write_str(if number > 0 { "," } else { "" })?;
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "[{name}]:{port}")?,
                Host::Tcp(name) => write!(f, "{name}:{port}")?,
                // A Unix socket, where there are any.
                #[allow(unreachable_patterns, reason = "as above")]
                other => write!(f, "{other:?}:{port}")?,
            }
        }
        write!(f, "/{}", self.server.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The URL without `sslmode`, of which the parser knows fewer values than people do; and that.
fn without_mode(url: &str) -> (String, Option<String>) {
    let Some((server, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let (mode, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| pair.starts_with("sslmode="));
    let mode = mode.last().and_then(|pair| pair.split_once('=')).map(|(_, mode)| mode.to_owned());
    let server = if rest.is_empty() { server.to_owned() } else { format!("{server}?{}", rest.join("&")) };
    (server, mode)
}

/// Also a Unix socket.
fn is_local(host: &Host) -> bool {
    !matches!(host, Host::Tcp(name) if !url::is_local(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_reached_with_tls_unless_it_is_switched_off() {
        for (url, with_tls) in [
            ("postgres://wharf@db.example/wharf", true),
            ("postgresql://wharf:pw@10.0.0.7:5433/wharf?sslmode=verify-full", true),
            ("postgres://wharf@db.example/wharf?connect_timeout=3&sslmode=disable", false),
            ("postgres://wharf@a.example,b.example/wharf", true),
            ("postgres://wharf@localhost/wharf", false),
            ("postgres://wharf@127.0.0.1,db.example/wharf", true),
            ("postgres://wharf@%2Frun%2Fpostgresql/wharf", false),
            ("postgres://wharf@[::1]:5432/wharf?sslmode=require", true),
        ] {
            assert_eq!(PostgresSettings::of_url(url).expect(url).has_tls(), with_tls, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_without_its_password() {
        for (url, why) in [
            ("postgres://wharf:hunter2@db.example/wharf?sslmode=prefer", "without TLS"),
            ("postgres://wharf:hunter2@db.example:no/wharf", "not a URL"),
            ("postgres://wharf:hunter2@db.example/wharf?hunter2=1", "not a URL"),
            ("postgres://wharf:hunter2@db.example", "needs a user"),
            ("postgres:///wharf", "needs a user"),
            ("postgres://wharf:Pw@hunter2/XYZ@127.0.0.1/wharf", "looks like the rest of a password"),
            ("postgres://wharf:Pw@hunter2@127.0.0.1:5432/wharf", "a host that looks like the rest of a password"),
            ("postgres://wharf:Pw@a,hunter2@db.example/wharf", "a host that looks like the rest of a password"),
            ("postgres://wharf:Pw@hunter2@db.example", "needs a user"),
        ] {
            let error = format!("{:?}", PostgresSettings::of_url(url).expect_err(url));
            assert!(error.contains(why) && !error.contains("hunter2"), "{url}: {error}");
        }
        let shown = PostgresSettings::of_url("postgres://wharf:hunter2@db.example,[::1]:7/wharf").expect("a URL");
        assert_eq!(format!("{shown} {shown:?}").matches("hunter2").count(), 0);
    }
}
