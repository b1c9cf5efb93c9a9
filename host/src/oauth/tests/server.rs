//! A server of HTTP on this machine that answers as a test says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// How a path is answered.
#[derive(Clone)]
pub(super) enum Reply {
    /// 200, with more fields of the head.
    Json(String, &'static str),
    Status(u16, String),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, while the client waits.
    Silence,
}

impl Reply {
    pub(super) fn json(text: impl ToString) -> Self {
        Self::Json(text.to_string(), "")
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Json(text, fields) => {
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{fields}\r\n{text}", text.len()).into_bytes()
            }
            Self::Status(status, fields) => {
                format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{fields}\r\n").into_bytes()
            }
            Self::Raw(bytes) => bytes.clone(),
            Self::Silence => return None,
        })
    }
}

#[derive(Default)]
struct Seen {
    replies: HashMap<String, Reply>,
    /// Paths, and head and body of each request.
    requests: Vec<(String, String)>,
}

pub(super) struct Server {
    pub(super) url: String,
    seen: Arc<Mutex<Seen>>,
    task: AbortHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Seen::default()));
        let own = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&own)));
            }
        });
        Self { url, seen, task: task.abort_handle() }
    }

    pub(super) fn reply(&self, path: &str, reply: Reply) {
        self.seen.lock().expect("a lock").replies.insert(path.to_owned(), reply);
    }

    /// How often a path was asked for.
    pub(super) fn count(&self, path: &str) -> usize {
        self.requests(path).len()
    }

    pub(super) fn requests(&self, path: &str) -> Vec<String> {
        let seen = self.seen.lock().expect("a lock");
        seen.requests.iter().filter(|(at, _)| at == path).map(|(_, text)| text.clone()).collect()
    }
}

async fn answer(mut stream: TcpStream, seen: Arc<Mutex<Seen>>) -> Option<()> {
    let mut text = Vec::new();
    let length = loop {
        let head = text.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(head) = head {
            let fields = String::from_utf8_lossy(&text[..head]).to_ascii_lowercase();
            let body =
                fields.lines().find_map(|field| field.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            break head + 4 + body.unwrap_or(0);
        }
        stream.read_buf(&mut text).await.ok().filter(|read| *read > 0)?;
    };
    while text.len() < length {
        stream.read_buf(&mut text).await.ok().filter(|read| *read > 0)?;
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let path = text.split(' ').nth(1)?.to_owned();
    let reply = {
        let mut seen = seen.lock().expect("a lock");
        let reply = seen.replies.get(&path).cloned().unwrap_or(Reply::Status(404, String::new()));
        seen.requests.push((path, text));
        reply
    };
    match reply.bytes() {
        Some(bytes) => stream.write_all(&bytes).await.ok(),
        // Until the client gives up.
        None => stream.read_u8().await.ok().map(drop),
    }
}
