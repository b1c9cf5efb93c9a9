//! Integration tests of the real binary and of the library. One file per area.

#[path = "../support/support.rs"]
#[allow(unreachable_pub, reason = "a test binary has no outside")]
mod support;

mod abi;
mod abuse;
mod act;
mod ambiguous;
mod approvals;
mod apps;
mod asking;
mod audit;
mod budgets;
mod calling;
mod checking;
mod cli;
mod concurrent;
mod discovery;
mod doctor;
mod engine;
mod folders;
mod foreign;
mod framing;
mod granting;
mod grants;
mod hostile;
mod http;
mod installing;
mod keyvalue;
mod lifecycle;
mod manual;
#[cfg(feature = "metrics")]
mod metrics;
mod notifications;
mod oauth;
mod os_sandbox;
mod outbound;
mod page;
mod pages;
mod pins;
mod plain;
#[cfg(target_os = "linux")]
mod processes;
mod programs;
#[cfg(feature = "dev")]
mod projects;
mod recording;
mod refusals;
mod registry;
mod reload;
mod rights;
mod rmcp;
mod samples;
mod schemas;
mod served;
mod several;
#[cfg(feature = "dev")]
mod shell;
mod shutdown;
mod signals;
mod skills;
mod store;
mod supply;
mod tasks;
mod telemetry;
mod terminal;
mod tidy;
mod top;
mod transcripts;
mod unread;
mod wasmcp;
mod wit;
mod writable;
