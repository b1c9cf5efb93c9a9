//! A minimal HTTP client: requests are serialised before the measurement, responses read as bytes.
//! It supports only as much of HTTP as these servers use.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";

/// A server that is silent for longer has hung.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Connection(BufReader<TcpStream>);

/// The parts of a response's head that the suites use.
pub struct Head {
    pub status: u16,
    pub session: Option<String>,
    /// `None` for a chunked body.
    length: Option<usize>,
}

impl Connection {
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).context("connect to the server")?;
        stream.set_nodelay(true).context("set up a connection")?;
        stream.set_read_timeout(Some(READ_TIMEOUT)).context("set up a connection")?;
        // Small, since a suite opens thousands of connections.
        Ok(Self(BufReader::with_capacity(4 << 10, stream)))
    }

    pub fn send(&mut self, request: &[u8]) -> Result<()> {
        self.0.get_mut().write_all(request).context("write to the server")
    }

    pub fn head(&mut self) -> Result<Head> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut head = Head { status: status.context("read a status")?, session: None, length: None };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { return Ok(head) };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.trim().parse().ok(),
                "mcp-session-id" => head.session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }

    /// A response's whole body.
    pub fn body(&mut self, head: &Head) -> Result<Vec<u8>> {
        self.body_into(head, Vec::new())
    }

    /// As [`Self::body`], into an empty buffer that is reused.
    pub fn body_into(&mut self, head: &Head, mut body: Vec<u8>) -> Result<Vec<u8>> {
        if let Some(length) = head.length {
            body.resize(length, 0);
            self.0.read_exact(&mut body).context("read a body")?;
            return Ok(body);
        }
        while let Some(chunk) = self.chunk()? {
            body.extend(chunk);
        }
        Ok(body)
    }

    /// The next chunk of a body; `None` at its end.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let size = self.line()?;
        let size = usize::from_str_radix(&size, 16).with_context(|| format!("read the size of a chunk: {size:?}"))?;
        let mut chunk = vec![0; size + 2];
        self.0.read_exact(&mut chunk).context("read a chunk")?;
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }

    /// A line without its line break.
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line).context("read from the server")? == 0 {
            bail!("read from the server: it has closed the connection");
        }
        Ok(line.trim_end().to_owned())
    }
}

/// A client of one revision.
pub struct Client {
    address: SocketAddr,
    revision: &'static str,
    /// The session id, if the server has assigned one.
    session: Option<String>,
    /// Each request has one of them; none if there are none.
    tokens: Vec<String>,
}

impl Client {
    /// Initialises a session if the revision has a handshake.
    pub fn new(address: SocketAddr, revision: &'static str) -> Result<Self> {
        let mut client = Self { address, revision, session: None, tokens: Vec::new() };
        if revision == LEGACY {
            let info = json!({ "name": "wharf-bench", "version": env!("CARGO_PKG_VERSION") });
            let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": info });
            let (head, answer) = client.send(&client.request(1, "initialize", params))?;
            ensure!(answer["result"]["protocolVersion"] == revision, "negotiate {revision} with the server: {answer}");
            client.session = head.session;
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            client.send(&client.post("notifications/initialized", None, &ready))?;
        }
        Ok(client)
    }

    /// The same client with tokens, of which each request has a random one.
    pub fn with_tokens(mut self, tokens: Vec<String>) -> Self {
        self.tokens = tokens;
        self
    }

    /// Runs `send` so often that each token is in a request; at least once.
    pub fn for_each_token(&self, send: impl Fn(&Self, u64) -> Result<()>) -> Result<()> {
        let own = |token: &String| Self { tokens: vec![token.clone()], session: self.session.clone(), ..*self };
        if self.tokens.is_empty() {
            return send(self, 0);
        }
        self.tokens.iter().try_for_each(|token| send(&own(token), 0))
    }

    /// The token of the request with that id.
    fn token(&self, id: u64) -> Option<&str> {
        // Ids are consecutive: the multiplier of splitmix64 spreads them.
        let random = id.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let count = u64::try_from(self.tokens.len()).ok().filter(|count| *count > 0)?;
        self.tokens.get(usize::try_from(random % count).ok()?).map(String::as_str)
    }

    /// The bytes of a request.
    pub fn request(&self, id: u64, method: &str, mut params: Value) -> Vec<u8> {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": { "name": "wharf-bench", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let name = params["name"].as_str().map(str::to_owned);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(method, name.as_deref(), &message)
    }

    pub fn connect(&self) -> Result<Connection> {
        Connection::connect(self.address)
    }

    /// Sends a request on a new connection, and returns its answer.
    pub fn send(&self, request: &[u8]) -> Result<(Head, Value)> {
        let mut connection = self.connect()?;
        connection.send(request)?;
        let head = connection.head()?;
        let body = if head.status == 202 { Vec::new() } else { connection.body(&head)? };
        let answer = message(&body).unwrap_or(Value::Null);
        ensure!((200..300).contains(&head.status), "get a successful response: {}: {answer}", head.status);
        Ok((head, answer))
    }

    fn post(&self, method: &str, name: Option<&str>, message: &Value) -> Vec<u8> {
        let body = message.to_string();
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {}\r\n",
            self.address,
            body.len(),
            self.revision,
        );
        if self.revision == MODERN {
            head += &format!("Mcp-Method: {method}\r\n");
            if let Some(name) = name {
                head += &format!("Mcp-Name: {name}\r\n");
            }
        }
        if let Some(token) = self.token(message["id"].as_u64().unwrap_or_default()) {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        if let Some(session) = &self.session {
            head += &format!("Mcp-Session-Id: {session}\r\n");
        }
        (head + "\r\n" + &body).into_bytes()
    }
}

/// The message of a JSON body, or the last one of an event stream.
pub fn message(body: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(body).context("read a body")?;
    let last = text.lines().rev().find_map(|line| line.strip_prefix("data: ").filter(|data| !data.is_empty()));
    serde_json::from_str(last.unwrap_or(text)).with_context(|| format!("read a body: {text:?}"))
}
