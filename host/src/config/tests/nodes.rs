//! `[server.http.nodes]`.

use super::error;
use crate::config::Config;

const STORE: &str = "[store]\nurl = 'postgres://a@b.example/c'\n";

fn nodes(table: &str, store: &str) -> String {
    format!("[server.http]\nnodes = {table}\n{store}")
}

#[test]
fn nodes_need_an_address_that_others_can_reach_and_a_store() {
    for valid in [
        "{ address = '10.0.0.5:7420' }",
        "{ address = '[2001:db8::5]:7420' }",
        "{ address = '0.0.0.0:7420', advertise = 'node-1.internal:7420' }",
        "{ address = '127.0.0.1:0' }",
        "{ address = '0.0.0.0:7420', advertise = { env = 'NODE' } }",
    ] {
        Config::parse(&nodes(valid, STORE)).unwrap_or_else(|error| panic!("{valid}: {error}"));
    }
    for (wrong, why) in [
        ("{}", "server.http.nodes.address: not an IP address with a port"),
        ("{ address = 'node-1:7420' }", "server.http.nodes.address: not an IP address with a port"),
        ("{ address = '[::]:7420' }", "server.http.nodes.advertise: the other nodes cannot connect"),
        ("{ address = '10.0.0.5:1', advertise = 'node-1' }", "server.http.nodes.advertise: not a host with a port"),
        ("{ address = '10.0.0.5:1', advertise = 'a b:1' }", "server.http.nodes.advertise: not a host with a port"),
        ("{ address = '10.0.0.5:1', advertise = 'a:0' }", "server.http.nodes.advertise: not a host with a port"),
        ("{ address = '10.0.0.5:1', advertise = { file = 'a' } }", "server.http.nodes.advertise"),
    ] {
        let error = error(&nodes(wrong, STORE));
        assert!(error.to_string().contains(why) && error.hint.is_some(), "{wrong}: {error}");
    }
    for store in ["", "[store]\nurl = 'sqlite:tasks.db'\n"] {
        let error = error(&nodes("{ address = '10.0.0.5:7420' }", store));
        assert!(error.to_string().contains("server.http.nodes: needs a store that the nodes share"), "{error}");
    }
}
