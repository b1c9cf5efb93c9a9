//! The duration of a plugin's HTTP request, to servers that close each connection and to servers
//! that keep them open. Wharf only.

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
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).context("generate a certificate")?;
    let keep_alive = |_: &str, connection: &mut dyn Connection| write_one(connection, "200 OK", "", "ok");
    let close = |_: &str, connection: &mut dyn Connection| write(connection, "200 OK", "", "ok");
    let sites = [
        ("HTTP, new connection", "http", Site::start(close)),
        ("HTTP, reused connection", "http", Site::keep_alive(keep_alive)),
        ("HTTPS, new connection", "https", Site::with_tls(tls_config(&certificate)?, close)),
        ("HTTPS, reused connection", "https", Site::keep_alive_with_tls(tls_config(&certificate)?, keep_alive)),
    ];
    let urls: Vec<String> =
        sites.iter().map(|(_, scheme, site)| format!("{scheme}://localhost:{}", site.port)).collect();
    let entries: Vec<String> = urls.iter().map(|url| format!("{{ url = \"{url}\", private = true }}")).collect();
    let settings = format!("[plugins.online.grants]\nhttp = [{}]\n", entries.join(", "));
    for wharf in bench.wharf() {
        let home = bench.scratch.home()?;
        home.put("online", &bench.component("online")?)?;
        home.trust(&certificate.cert.pem())?;
        for round in 0..bench.options.rounds {
            bench.progress(&format!("outbound, round {}", round + 1));
            let mut client = wharf.start_for(&home, &settings, TOOL)?;
            for ((row, ..), url) in sites.iter().zip(&urls) {
                // Not measured: the first request may load the trusted roots.
                fetch(&mut client, url)?;
                let mut times = (0..FETCHES).map(|_| fetch(&mut client, url)).collect::<Result<Vec<_>>>()?;
                times.sort_unstable();
                let p50 = percentile(&times, 50).as_secs_f64() * 1e6;
                report.add(&format!("outbound request, {row}: p50"), Unit::Micros, wharf.name(), p50);
            }
        }
    }
    Ok(())
}

/// The duration of a call that sends one request.
fn fetch(client: &mut Client, url: &str) -> Result<Duration> {
    let started = Instant::now();
    let result = client.request("tools/call", json!({ "name": TOOL, "arguments": { "url": url } }))?;
    let took = started.elapsed();
    ensure!(result["content"][0]["text"] == "200 \nok", "get the page: {result}");
    Ok(took)
}

fn tls_config(own: &CertifiedKey<KeyPair>) -> Result<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key))
        .context("serve HTTPS")
}
