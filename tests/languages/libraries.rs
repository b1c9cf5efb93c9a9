//! Libraries for HTTP in Python and JavaScript components, over the host's HTTP, and what they cannot do.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::site::{Connection, Site, field, write};

const LIBRARIES: [&str; 4] = ["urllib", "requests", "httpx", "httpx-async"];

/// A server of that component, which may send requests to the site.
fn serve(component: &Path, name: &str, site: &Site) -> (Home, Client) {
    let (home, url) = (Home::new(), site.url(""));
    home.configure(&format!(
        "[plugins.{name}.grants]\nhttp = [{{ url = \"{url}\", methods = [\"GET\", \"POST\"], private = true }}]\n"
    ));
    home.put_file(component, name);
    let mut client = Client::start_modern(&home);
    client.tools_until(|tools| !tools.is_empty());
    (home, client)
}

/// The component of the plugin `everything-python`.
pub(crate) fn python(component: &Path) {
    let site = Site::start(answer);
    let name = "everything-python";
    let (_home, mut client) = serve(component, name, &site);
    let mut call = |tool: &str, arguments: Value| client.call(&format!("{name}_{tool}"), arguments);
    for library in LIBRARIES {
        let posted = call("request", json!({ "library": library, "url": site.url("/moved"), "post": "milk" }));
        // A redirected POST becomes a GET, as each library does it.
        let page = json!({ "status": 200, "url": site.url("/page"), "type": "text/plain", "text": "GET /page" });
        assert_eq!(without_cookies(&posted), page, "{library}: {posted}");
        let echo = call("request", json!({ "library": library, "url": site.url("/echo"), "post": "milk" }));
        assert_eq!(echo["structuredContent"]["text"], "POST /echo: milk", "{library}: {echo}");
        if library != "urllib" {
            assert_eq!(posted["structuredContent"]["cookies"], json!({ "seen": "1" }), "{library}: {posted}");
        }
        let sent = site.heads().pop().expect("a request");
        assert_eq!(field(&sent, "x-library"), Some(library), "{sent}");
        // What the operator can do is in the library's own exception.
        let denied = call("request", json!({ "library": library, "url": "http://127.0.0.1:1/" }));
        let reported = first_text(&denied);
        let exception = match library {
            "urllib" => "URLError: ",
            "requests" => "ConnectionError: ",
            _ => "ConnectError: ",
        };
        assert!(denied["isError"] == true && reported.contains(exception), "{library}: {denied}");
        assert!(reported.contains("{ url = \"http://127.0.0.1:1\", private = true }"), "{library}: {denied}");
    }
    for how in ["connection", "socket"] {
        let reported = call("connect", json!({ "how": how }));
        assert!(first_text(&reported).contains("plugins have no sockets; use wharf_plugin.http"), "{reported}");
    }
    let waited = call("wait", json!({}));
    assert_eq!(first_text(&waited), "[0, 1, 2, 9] 3 [] False", "{waited}");
    assert_eq!(first_text(&call("nested", json!({}))), "slept");
    // What there is when the component is built, and what a call makes.
    assert_eq!(first_text(&call("late", json!({ "what": "immortal" }))), "True True False");
    let stuck = call("stuck", json!({}));
    assert!(stuck["isError"] == true && first_text(&stuck).contains("wait for one another"), "{stuck}");
    let order = call("order", json!({ "item": { "name": "nail", "price": 2 } }));
    assert_eq!(order["structuredContent"], json!({ "name": "nail", "price": 4.0, "size": null }), "{order}");
    let wrong = call("order", json!({ "item": { "name": "nail", "price": 0 } }));
    assert!(wrong["isError"] == true && wrong.to_string().contains("/item/price"), "{wrong}");
}

/// The component of the plugin `everything-typescript`: `fetch`.
pub(crate) fn typescript(component: &Path) {
    let site = Site::start(answer);
    let name = "everything-typescript";
    let (_home, mut client) = serve(component, name, &site);
    let mut request = |arguments: Value| client.call(&format!("{name}_request"), arguments);
    let posted = request(json!({ "url": site.url("/moved"), "post": "milk" }));
    // A redirected POST becomes a GET.
    let page = json!({ "status": 200, "url": site.url("/page"), "type": "text/plain", "text": "GET /page" });
    assert_eq!(posted["structuredContent"], page, "{posted}");
    let echo = request(json!({ "url": site.url("/echo#part"), "post": "milk" }));
    assert_eq!(echo["structuredContent"]["text"], "POST /echo: milk", "{echo}");
    let sent = site.heads().pop().expect("a request");
    assert_eq!(field(&sent, "x-library"), Some("fetch"), "{sent}");
    let late = request(json!({ "url": site.url("/late"), "within": 50 }));
    assert!(late["isError"] == true && first_text(&late).contains("TimeoutError: "), "{late}");
    let denied = request(json!({ "url": "http://127.0.0.1:1/" }));
    let reported = first_text(&denied);
    assert!(denied["isError"] == true && reported.contains("TypeError: fetch failed: "), "{denied}");
    assert!(reported.contains("{ url = \"http://127.0.0.1:1\", private = true }"), "{denied}");
}

fn without_cookies(result: &Value) -> Value {
    let mut found = result["structuredContent"].clone();
    found.as_object_mut().map(|members| members.remove("cookies"));
    found
}

fn answer(head: &str, connection: &mut dyn Connection) {
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let length = field(head, "content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    connection.read_exact(&mut body).expect("a body");
    let body = String::from_utf8(body).expect("UTF-8");
    match path {
        // Until the client gives up.
        "/late" => _ = connection.read(&mut [0]),
        "/moved" => write(connection, "302 Found", "Location: /page\r\n", "moved"),
        "/page" => {
            let fields = "Content-Type: text/plain\r\nSet-Cookie: seen=1\r\n";
            write(connection, "200 OK", fields, &format!("{method} {path}"));
        }
        _ => write(connection, "200 OK", "Content-Type: text/plain\r\n", &format!("{method} {path}: {body}")),
    }
}
