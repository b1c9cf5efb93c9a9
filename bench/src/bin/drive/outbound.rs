//! What a plugin's request to a site takes, where the site closes each connection and where it
//! keeps them: Wharf only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rcgen::{CertifiedKey, KeyPair};
use serde_json::json;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::Bench;
use crate::calls::percentile;
use crate::client::Client;
use crate::report::{Report, Unit};
use crate::support::site::{Connection, Site, write, write_one};

const TOOL: &str = "online_fetch";
const FETCHES: usize = 50;

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).context("make a certificate")?;
    let keeps = |_: &str, connection: &mut dyn Connection| write_one(connection, "200 OK", "", "ok");
    let closes = |_: &str, connection: &mut dyn Connection| write(connection, "200 OK", "", "ok");
    let sites = [
        ("HTTP, a connection for each", "http", Site::start(closes)),
        ("HTTP, kept", "http", Site::keep_alive(keeps)),
        ("HTTPS, a connection for each", "https", Site::with_tls(server(&own)?, closes)),
        ("HTTPS, kept", "https", Site::keep_alive_with_tls(server(&own)?, keeps)),
    ];
    let urls: Vec<String> =
        sites.iter().map(|(_, scheme, site)| format!("{scheme}://localhost:{}", site.port)).collect();
    let entries: Vec<String> = urls.iter().map(|url| format!("{{ url = \"{url}\", private = true }}")).collect();
    let settings = format!("[plugins.online.grants]\nhttp = [{}]\n", entries.join(", "));
    for wharf in bench.wharf() {
        let home = bench.scratch.home()?;
        home.put("online", &bench.component("online")?)?;
        home.trust(&own.cert.pem())?;
        for round in 0..bench.options.rounds {
            bench.note(&format!("outbound, round {}", round + 1));
            let mut client = wharf.start_for(&home, &settings, TOOL)?;
            for ((row, ..), url) in sites.iter().zip(&urls) {
                // The first does not count: it may read the roots of trust.
                fetch(&mut client, url)?;
                let mut times = (0..FETCHES).map(|_| fetch(&mut client, url)).collect::<Result<Vec<_>>>()?;
                times.sort_unstable();
                let p50 = percentile(&times, 50).as_secs_f64() * 1e6;
                report.add(&format!("a request to a site, {row}: p50"), Unit::Micros, wharf.name(), p50);
            }
        }
    }
    Ok(())
}

/// How long a call took that sent one request.
fn fetch(client: &mut Client, url: &str) -> Result<Duration> {
    let started = Instant::now();
    let result = client.request("tools/call", json!({ "name": TOOL, "arguments": { "url": url } }))?;
    let took = started.elapsed();
    ensure!(result["content"][0]["text"] == "200 \nok", "get the page: {result}");
    Ok(took)
}

fn server(own: &CertifiedKey<KeyPair>) -> Result<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key))
        .context("serve HTTPS")
}
