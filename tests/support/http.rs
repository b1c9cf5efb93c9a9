//! A raw HTTP client, which can send invalid requests, and HTTP servers, in this process or as the real
//! binary.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use wharf::catalog::Catalog;
use wharf::server::{Server, Settings as ServerSettings};
use wharf::transport::http::{self, Listener, Settings};

use super::home::Home;
use super::memory;
use super::process::{Process, command};
use super::{MODERN, TIMEOUT};

/// A request that every server of the newest revision answers.
pub const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// The library's HTTP server in this process, on a free port.
pub struct HttpServer {
    pub address: SocketAddr,
    /// The first scan ends when the test calls `set_ready`.
    pub catalog: Arc<Catalog>,
    stop: CancellationToken,
    runtime: Option<Runtime>,
}

impl HttpServer {
    pub fn start(settings: Settings) -> Self {
        Self::with(Runtime::new().expect("a runtime"), Arc::default(), settings)
    }

    /// Serves the plugins of that home.
    pub fn serve(home: &Home, settings: Settings) -> Self {
        let (runtime, catalog) = (Runtime::new().expect("a runtime"), Arc::default());
        let sandbox = runtime.block_on(memory::load(home, Arc::clone(&catalog)));
        settings.idle.set(move || sandbox.on_idle());
        Self::with(runtime, catalog, settings)
    }

    fn with(runtime: Runtime, catalog: Arc<Catalog>, settings: Settings) -> Self {
        // Otherwise each handshake waits for a look at a folder that is not there.
        catalog.set_files_known();
        let server = Server::new(catalog.clone(), ServerSettings::default());
        let stop = CancellationToken::new();
        let listen = || Listener::bind(&"127.0.0.1:0".parse().expect("an address"));
        let listener = runtime.block_on(async { listen() }).expect("a free port");
        let address = listener.local_address().expect("an address");
        runtime.spawn(http::serve(server, listener, settings, stop.clone().cancelled_owned()));
        Self { address, catalog, stop, runtime: Some(runtime) }
    }

    pub fn connect(&self) -> HttpConnection<TcpStream> {
        HttpConnection::connect(self.address)
    }

    /// Sends a request on a new connection.
    pub fn exchange(&self, request: &Request) -> Response {
        self.connect().exchange(request)
    }

    /// A valid MCP request, with the `Host` of this server.
    pub fn discover(&self) -> Request {
        Request::discover(self.address)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs `wharf serve --http 127.0.0.1:0` with further options, and returns its address.
pub fn serve(home: &Home, options: &[&str]) -> (Process, SocketAddr) {
    serve_at(home, "127.0.0.1:0", options)
}

/// As [`serve`], for any TCP address.
pub fn serve_at(home: &Home, address: &str, options: &[&str]) -> (Process, SocketAddr) {
    let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.arg("--http").arg(address).args(options);
    let process = Process::start(command);
    let address = listening_address(&process);
    (process, address)
}

/// The address that a host prints to stderr.
pub fn listening_address(process: &Process) -> SocketAddr {
    let log = process.log_with("/mcp\n");
    let line = log.lines().find_map(|line| line.strip_prefix("listening on ")).expect("a line for scripts");
    let authority = line.split("://").nth(1).and_then(|rest| rest.strip_suffix("/mcp"));
    authority.and_then(|authority| authority.parse().ok()).unwrap_or_else(|| panic!("no address in {line:?}"))
}

/// The address of the metrics, which a host prints to stderr.
pub fn metrics_address(process: &Process) -> SocketAddr {
    let log = process.log_with("/metrics\n");
    let line = log.lines().find_map(|line| line.strip_prefix("metrics at http://")).expect("a line for scripts");
    line.trim_end_matches("/metrics").parse().unwrap_or_else(|_| panic!("no address in {line:?}"))
}

/// The sum of the samples of metrics that start so.
pub fn sample_sum(metrics: &str, start: &str) -> f64 {
    let values = metrics.lines().filter(|line| line.starts_with(start)).filter_map(|line| line.rsplit(' ').next());
    values.map(|value| value.parse::<f64>().unwrap_or_else(|_| panic!("no number: {value}"))).sum()
}

/// A request, sent unchanged.
#[derive(Clone)]
pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn new(method: &str, path: &str, host: impl ToString) -> Self {
        let headers = vec![("Host".to_owned(), host.to_string())];
        Self { line: format!("{method} {path} HTTP/1.1"), headers, body: Vec::new() }
    }

    pub fn discover(host: impl ToString) -> Self {
        Self::new("POST", "/mcp", host)
            .with("Accept", "application/json, text/event-stream")
            .with("MCP-Protocol-Version", MODERN)
            .with("Mcp-Method", "server/discover")
            .json(DISCOVER)
    }

    /// Adds a header, also if there is one of that name.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes all headers of that name.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub fn set(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub fn json(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let length = self.body.len().to_string();
        self.set("Content-Type", "application/json").set("Content-Length", &length)
    }

    pub fn head(&self) -> Vec<u8> {
        let headers: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{}\r\n{headers}\r\n", self.line).into_bytes()
    }

    pub fn bytes(&self) -> Vec<u8> {
        [self.head(), self.body.clone()].concat()
    }
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    /// Whether the request was handled by the MCP endpoint.
    pub fn reached_mcp(&self) -> bool {
        self.status == 200
    }

    pub fn cors(&self) -> Vec<&str> {
        let names = self.headers.iter().map(|(name, _)| name.as_str());
        names.filter(|name| name.to_ascii_lowercase().starts_with("access-control-")).collect()
    }
}

/// An HTTP/1.1 connection.
pub struct HttpConnection<S> {
    stream: S,
    /// Received and not yet parsed.
    buffer: Vec<u8>,
}

impl HttpConnection<TcpStream> {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a listening server");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
        Self::new(stream)
    }

    /// Whether the host closes within `pause`. Received bytes are discarded.
    pub fn is_closed_after(&mut self, pause: Duration) -> bool {
        self.stream.set_read_timeout(Some(pause)).expect("a socket");
        match self.stream.read(&mut [0; 4096]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

impl<S: Read + Write> HttpConnection<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// False if the host has closed.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).is_ok()
    }

    /// Sends a request and reads its response.
    pub fn exchange(&mut self, request: &Request) -> Response {
        // A host that refuses early may not read the whole request.
        self.send(&request.bytes());
        self.read(request.line.starts_with("HEAD ")).expect("a response")
    }

    /// The next response; `None` if the host has closed.
    pub fn response(&mut self) -> Option<Response> {
        self.read(false)
    }

    /// The response to HEAD has a `Content-Length` and no body.
    fn read(&mut self, to_head: bool) -> Option<Response> {
        let end = loop {
            match self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at,
                None if self.more() => {}
                None if self.buffer.is_empty() => return None,
                None => panic!("a broken head: {:?}", String::from_utf8_lossy(&self.buffer)),
            }
        };
        let head = String::from_utf8(self.buffer.drain(..end + 4).collect()).expect("a head in ASCII");
        let mut lines = head.trim_end().lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let split = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        let mut response = Response {
            status: status.expect("a status"),
            headers: lines.filter_map(split).collect(),
            body: Vec::new(),
        };
        let length = response.header("content-length").filter(|_| !to_head);
        let length = length.map_or(0, |length| length.parse().expect("a length"));
        while self.buffer.len() < length {
            assert!(self.more(), "a body that breaks off: {response:?}");
        }
        response.body = self.buffer.drain(..length).collect();
        Some(response)
    }

    /// The next chunk of a chunked body; `None` at its end, or if the host closes.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = loop {
            match self.buffer.windows(2).position(|window| window == b"\r\n") {
                Some(at) => break self.buffer.drain(..at + 2).collect::<Vec<_>>(),
                None if self.more() => {}
                None => return None,
            }
        };
        let size = std::str::from_utf8(&size).ok().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
        let size = size.expect("a chunk's size");
        while self.buffer.len() < size + 2 {
            if !self.more() {
                return None;
            }
        }
        let chunk: Vec<u8> = self.buffer.drain(..size + 2).take(size).collect();
        (size > 0).then_some(chunk)
    }

    /// All remaining bytes until the host closes.
    pub fn rest(&mut self) -> String {
        while self.more() {}
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }

    /// Reads more bytes. False at the end.
    fn more(&mut self) -> bool {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(read) => {
                self.buffer.extend_from_slice(&chunk[..read]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the host sends nothing; before: {:?}", String::from_utf8_lossy(&self.buffer))
            }
            Err(_) => false,
        }
    }
}
