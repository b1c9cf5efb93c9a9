//! The cost of tokens, of metrics, traces, the page and recordings: calls over HTTP without tokens, with a static one,
//! with each of these too, and with access tokens of one user and of many.
//! Wharf only; its servers run at the same time and are loaded in turn.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PKCS_ED25519, SigningKey as _};
use serde_json::{Value, json};

use crate::Bench;
use crate::contender::Contender;
use crate::http::{load, rate};
use crate::http_client::{Client, MODERN};
use crate::report::{Report, Unit};
use crate::support::site::{Site, field, write};

const CONNECTIONS: usize = 64;
/// Users whose tokens are sent at random; fewer than the tokens that a server remembers.
const USERS: [usize; 3] = [1, 100, 10_000];
/// Loads of each server in a round.
const TURNS: usize = 4;
const RESOURCE: &str = "https://tools.example/mcp";
const STATIC_SETTINGS: &str = "tokens = [{ name = \"bench\", file = \"token\" }]\n";
const STATIC: &str = "0123456789abcdef0123456789abcdef";

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let Some(wharf) = bench.wharf().next() else { return Ok(()) };
    let issuer = Issuer::start()?;
    let mut variants = vec![
        ("no token".to_owned(), "", Vec::new()),
        ("a static token".into(), "static", one(STATIC)),
        ("a static token, with metrics".into(), "metrics", one(STATIC)),
        ("a static token, with traces of one call of a hundred".into(), "some traces", one(STATIC)),
        ("a static token, with traces of all calls".into(), "traces", one(STATIC)),
        ("a static token, with the page".into(), "page", one(STATIC)),
        ("a static token, with recordings of one call of a hundred".into(), "some recordings", one(STATIC)),
        ("a static token, with recordings of all calls".into(), "recordings", one(STATIC)),
    ];
    for users in USERS {
        let users = bench.options.size(users, users.min(1_000));
        let name = if users == 1 { "a user's token".to_owned() } else { format!("tokens of {users} users") };
        variants.push((name, "oauth", issuer.tokens(users)?));
    }
    for round in 0..bench.options.rounds {
        bench.progress(&format!("http with tokens, round {}", round + 1));
        let rates = rates(bench, wharf, &issuer, &variants, round)?;
        for ((name, ..), rate) in variants.iter().zip(&rates) {
            report.add(&format!("echo on {CONNECTIONS} connections, {name}"), Unit::PerSecond, wharf.name(), *rate);
        }
        for ((name, ..), rate) in variants.iter().zip(&rates).skip(2) {
            report.add(&format!("{name} ÷ a static token"), Unit::Times, wharf.name(), rate / rates[1]);
        }
    }
    Ok(())
}

/// Calls per second of each variant. The servers are new: two of the same program may differ by a tenth, by where their
/// memory is.
fn rates(
    bench: &Bench,
    wharf: &Contender,
    issuer: &Issuer,
    variants: &[(String, &str, Vec<String>)],
    round: usize,
) -> Result<Vec<f64>> {
    let mut servers = Vec::new();
    let collector = Site::start(|head, connection| {
        let length = field(head, "content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        let _ = connection.read_exact(&mut vec![0; length]);
        write(connection, "200 OK", "", "");
    });
    for (kind, settings) in [
        ("", String::new()),
        ("static", STATIC_SETTINGS.to_owned()),
        ("metrics", format!("{STATIC_SETTINGS}[metrics]\naddress = \"127.0.0.1:0\"\n")),
        ("some traces", traced(&collector, 0.01)),
        ("traces", traced(&collector, 1.0)),
        ("page", format!("{STATIC_SETTINGS}[page]\naddress = \"127.0.0.1:0\"\n")),
        ("some recordings", recorded(0.01)),
        ("recordings", recorded(1.0)),
        ("oauth", issuer.settings()),
    ] {
        let home = bench.scratch.home()?;
        home.put("echo", &bench.echo)?;
        home.secret("token", STATIC)?;
        let (process, address) = wharf.start_http(&home, 0, &settings)?;
        servers.push((kind, address, process, home));
    }
    let at = |kind: &str| servers.iter().find(|(known, ..)| *known == kind).map(|(_, address, ..)| *address);
    let mut clients = Vec::new();
    for (_, kind, tokens) in variants {
        let client = Client::new(at(kind).context("find a server")?, MODERN)?.with_tokens(tokens.clone());
        ready(&client)?;
        // Each is verified before the measurement.
        client.for_each_token(|client, id| client.send(&client.request(id, "tools/list", json!({}))).map(drop))?;
        clients.push(client);
    }
    let (mut rates, turns) = (vec![0.0; clients.len()], bench.options.size(TURNS, 1));
    for turn in 0..turns {
        let mut order: Vec<usize> = (0..clients.len()).collect();
        // Reversed each turn, so that drift affects all equally.
        if (round + turn) % 2 == 1 {
            order.reverse();
        }
        for nth in order {
            let (took, times) = load(bench, wharf, &clients[nth], CONNECTIONS)?;
            rates[nth] += rate(took, &times) / turns as f64;
        }
    }
    servers.into_iter().for_each(|(_, _, process, _)| process.kill());
    Ok(rates)
}

/// Waits until the plugin is loaded: a list waits for that only a while, and several servers load theirs at the same time.
fn ready(client: &Client) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let (_, answer) = client.send(&client.request(0, "tools/list", json!({})))?;
        if answer["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "list the plugin's tools: {answer}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Exports traces to a collector on this machine, which throws them away.
fn traced(collector: &Site, sample: f64) -> String {
    let endpoint = collector.url("");
    format!("{STATIC_SETTINGS}[telemetry]\nendpoint = \"{endpoint}\"\nmetrics = false\nsample = {sample:?}\n")
}

fn recorded(sample: f64) -> String {
    format!("{STATIC_SETTINGS}[record]\nfolder = \"recordings\"\nsample = {sample:?}\n")
}

fn one(token: &str) -> Vec<String> {
    vec![token.to_owned()]
}

/// Signs access tokens, and publishes its key.
struct Issuer {
    site: Site,
    key: KeyPair,
}

impl Issuer {
    fn start() -> Result<Self> {
        let key = KeyPair::generate_for(&PKCS_ED25519).context("generate a key")?;
        let public = json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key_raw()), "kid": "k" });
        let keys = json!({ "keys": [public] }).to_string();
        let site = Site::start(move |_, connection| write(connection, "200 OK", "", &keys));
        Ok(Self { site, key })
    }

    fn settings(&self) -> String {
        let issuer = self.site.url("");
        let issuers = format!("[{{ issuer = \"{issuer}\", jwks-uri = \"{issuer}/keys\" }}]");
        format!("[server.http.oauth]\nresource = \"{RESOURCE}\"\nscopes = [\"mcp\"]\nissuers = {issuers}\n")
    }

    /// A token for each of so many users.
    fn tokens(&self, users: usize) -> Result<Vec<String>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("read the clock")?.as_secs();
        let header = encode(json!({ "alg": "EdDSA", "kid": "k", "typ": "at+jwt" }).to_string());
        let token = |user: usize| {
            let claims: Value = json!({
                "iss": self.site.url(""), "aud": RESOURCE, "sub": format!("user-{user}"), "client_id": "bench",
                "scope": "mcp profile email", "groups": ["staff", "team-a"], "iat": now, "exp": now + 24 * 3600,
            });
            let signed = format!("{header}.{}", encode(claims.to_string()));
            let signature = self.key.sign(signed.as_bytes()).context("sign a token")?;
            Ok(format!("{signed}.{}", encode(signature)))
        };
        (0..users).map(token).collect()
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
