//! `[server.http.nodes]`: where the other nodes of one server find this one.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, WrongValue};

const KEYS: [&str; 3] = ["server", "http", "nodes"];

/// Nodes share sessions through it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NodesConfig {
    /// Where this node listens for the others: `IP:PORT`.
    pub address: String,
    /// Where the others find it; unset: `address`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertise: Option<Advertised>,
}

/// Where other nodes find one.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Advertised {
    /// `HOST:PORT`.
    Address(String),
    /// An environment variable that has it: nodes with one configuration differ in it.
    Variable(Variable),
}

/// An environment variable.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    pub env: String,
}

impl Variable {
    /// The address, if the variable has that value.
    fn address(&self, value: Option<String>) -> Result<String, ConfigError> {
        value.filter(|address| is_host_and_port(address)).ok_or_else(|| {
            let name = &self.env;
            let what = format!("server.http.nodes.advertise: the variable {name} is not a host with a port");
            ConfigError::new(what, Some(format!("set it: {name}=node-1.internal:7420")))
        })
    }
}

impl NodesConfig {
    /// Where the others find this node, which listens there.
    ///
    /// # Errors
    /// If the variable that says it is not set, or malformed.
    pub fn advertised(&self, listening: SocketAddr) -> Result<String, ConfigError> {
        match &self.advertise {
            None => Ok(listening.to_string()),
            Some(Advertised::Address(address)) => Ok(address.clone()),
            Some(Advertised::Variable(variable)) => variable.address(std::env::var(&variable.env).ok()),
        }
    }

    /// `has_store`: the nodes have one in common.
    ///
    /// # Errors
    /// If an address is malformed, or there is no store.
    pub(super) fn check(&self, has_store: bool) -> Result<(), WrongValue> {
        self.check_addresses().map_err(|wrong| wrong.below(&KEYS))?;
        if !has_store {
            return Err(WrongValue::at(&KEYS, "needs a store that the nodes share")
                .hint("write in [store]: url = \"postgres://USER@HOST/DATABASE\""));
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), WrongValue> {
        let address: SocketAddr = self.address.parse().map_err(|_| {
            WrongValue::at(&["address"], format!("not an IP address with a port: {:?}", self.address))
                .hint("write address = \"10.0.0.5:7420\", or \"0.0.0.0:7420\" with advertise")
        })?;
        match &self.advertise {
            Some(Advertised::Address(advertise)) if !is_host_and_port(advertise) => {
                let why = format!("not a host with a port: {advertise:?}");
                Err(WrongValue::at(&["advertise"], why).hint("write advertise = \"node-1.internal:7420\""))
            }
            None if address.ip().is_unspecified() => {
                let why = "the other nodes cannot connect to an address that stands for all";
                Err(WrongValue::at(&["advertise"], why)
                    .hint("write where they find this node: advertise = \"10.0.0.5:7420\""))
            }
            _ => Ok(()),
        }
    }
}

fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':' | '_'));
    !host.is_empty() && host.len() <= 253 && is_name && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[test]
fn a_variable_says_where_a_node_is() {
    let variable = Variable { env: "NODE".into() };
    let address = |value: &str| variable.address(Some(value.into())).ok();
    assert_eq!(address("10.0.0.5:7420").as_deref(), Some("10.0.0.5:7420"));
    for wrong in ["", ":7420", "10.0.0.5", "a b:1"] {
        assert_eq!(address(wrong), None, "{wrong}");
    }
    let error = variable.address(None).expect_err("it is not set");
    assert_eq!(error.hint.as_deref(), Some("set it: NODE=node-1.internal:7420"));
}
