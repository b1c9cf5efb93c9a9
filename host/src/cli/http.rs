//! `wharf serve --http`: turns flags and configuration into a listener and its settings.

use std::net::SocketAddr;

use clap::Args;

use super::finding::Finding;
use super::oauth::oauth;
use super::reloadable::tokens;
use super::wiring::is_remote;
use crate::config::Config;
use crate::report::{self, Failure};
use crate::transport::http::{Address, Listener, SessionSettings, Settings, Tls};

#[derive(Args)]
pub(super) struct HttpOptions {
    /// Serve over HTTP at /mcp instead of stdin: IP:PORT (port 0 picks a free one), localhost:PORT,
    /// unix:PATH, or systemd for socket activation [default: server.http.address]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Allow a non-loopback address without a configured token: anyone who can connect may call every
    /// tool
    #[arg(long)]
    allow_remote_without_auth: bool,
    /// Also serve HTTP+SSE, the transport of revision 2024-11-05, at /sse
    #[arg(long)]
    sse: bool,
}

impl HttpOptions {
    /// The address to listen on, as written; `None`: stdin.
    pub(super) fn address<'a>(&'a self, config: &'a Config) -> Option<&'a str> {
        self.http.as_deref().or(config.server.http.address.as_deref())
    }
}

/// Starts to listen if HTTP is configured, and prints the URL.
pub(super) fn listen(options: &HttpOptions, config: &Config) -> Result<Option<(Listener, Settings)>, Failure> {
    let Some(text) = options.address(config) else { return Ok(None) };
    let address = address(text)?;
    let mut settings = settings(config)?;
    settings.sse |= options.sse;
    if let Address::Tcp(address) = address
        && !address.ip().to_canonical().is_loopback()
    {
        allow_remote(options.allow_remote_without_auth, &settings, text)?;
    }
    let listener = Listener::bind(&address)
        .map_err(|error| Failure::new(error.to_string()).hint(error.hint.map(str::to_owned)))?;
    let tls = settings.tls.is_some();
    // The address of a passed socket is known only now.
    if !listener.is_local() {
        allow_remote(options.allow_remote_without_auth, &settings, text)?;
    }
    report::announce(&format!("listening on {}", listener.url(tls)));
    if !listener.is_local() && !settings.has_authentication() {
        tracing::warn!("authentication is disabled: anyone who can connect may call every tool");
    }
    if !listener.is_local() && !tls {
        tracing::warn!(
            "TLS is disabled: set server.http.tls, or use a TLS proxy; without it others can read the traffic"
        );
    }
    let is_unspecified = listener.local_address().is_some_and(|address| address.ip().to_canonical().is_unspecified());
    if is_unspecified && settings.allowed_hosts.is_empty() {
        tracing::warn!(
            "clients on other machines are refused until server.http.allowed-hosts lists the host names they use"
        );
    }
    Ok(Some((listener, settings)))
}

/// Whether a server could listen on the configured address with the configured tokens and certificate, for
/// `wharf doctor`. `None` if none is configured, or systemd listens.
pub(super) fn finding(config: &Config) -> Option<Finding> {
    let about = "HTTP";
    let text = config.server.http.address.as_deref()?;
    let tried = address(text).and_then(|address| Ok((settings(config)?, address)));
    let (settings, address) = match tried {
        Ok(both) => both,
        Err(failure) => return Some(Finding::bad(about, failure)),
    };
    let Address::Tcp(tcp) = address else { return None };
    if is_remote(config)
        && let Err(failure) = allow_remote(false, &settings, text)
    {
        return Some(Finding::bad(about, failure));
    }
    Some(is_free(about, tcp, |listener| listener.url(settings.tls.is_some())))
}

/// Whether a server could listen on an address. `shown`: what a person is told that is free.
pub(super) fn is_free(about: &'static str, address: SocketAddr, shown: impl FnOnce(&Listener) -> String) -> Finding {
    match Listener::bind(&Address::Tcp(address)) {
        Ok(listener) => Finding::good(about, format!("{} is free", shown(&listener))),
        Err(error) => Finding::missing(
            about,
            error.to_string(),
            format!("if that is a running server, all is well; to see it: ss -ltnp 'sport = :{}'", address.port()),
        ),
    }
}

fn address(text: &str) -> Result<Address, Failure> {
    text.parse()
        .map_err(|error| Failure::usage(format!("read the address to listen on: {error}")).hint(Address::advice(text)))
}

fn allow_remote(without_tokens: bool, settings: &Settings, address: &str) -> Result<(), Failure> {
    if settings.has_authentication() || without_tokens {
        return Ok(());
    }
    let hint = "set server.http.tokens or server.http.oauth, or add --allow-remote-without-auth if anyone who can connect may call every tool";
    Err(Failure::usage(format!("listen on a non-loopback address without a token: {address}")).hint(hint.to_owned()))
}

fn settings(config: &Config) -> Result<Settings, Failure> {
    let http = &config.server.http;
    let tokens = tokens(config).map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let oauth = oauth(config).map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let tls = http.tls.as_ref().map(|tls| Tls::read(&config.resolve(&tls.cert), &config.resolve(&tls.key)));
    Ok(Settings {
        header_timeout: http.header_timeout,
        body_timeout: http.body_timeout,
        write_timeout: http.write_timeout,
        connections: http.connections,
        connections_per_address: http.connections_per_address,
        allowed_hosts: http.allowed_hosts.clone(),
        allowed_origins: http.allowed_origins.clone(),
        tokens: tokens.into(),
        oauth,
        server_card: http.server_card_url().map(str::to_owned),
        sse: http.sse,
        sessions: SessionSettings { poll_after: http.poll_after, ..SessionSettings::default() },
        tls: tls.transpose().map_err(|error| Failure::usage(format!("read server.http.tls: {error}")))?,
        ..Settings::default()
    })
}

#[cfg(test)]
mod tests {
    use super::settings;
    use crate::config::Config;
    use crate::transport::http::Settings;

    /// They are defined twice, since neither module may depend on the other.
    #[test]
    fn defaults_of_the_configuration_and_the_transport_are_equal() {
        let limits = |settings: &Settings| {
            let Settings { header_timeout, body_timeout, write_timeout, connections, connections_per_address, .. } =
                *settings;
            (header_timeout, body_timeout, write_timeout, connections, connections_per_address)
        };
        let ours = settings(&Config::default()).expect("no file is needed");
        assert_eq!(limits(&ours), limits(&Settings::default()));
    }
}
