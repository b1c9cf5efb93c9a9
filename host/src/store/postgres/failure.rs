//! What the operator is told of errors of PostgreSQL.

use std::error::Error as _;
use std::fmt::Display;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::settings::PostgresSettings;
use crate::store::StoreError;

const IS_IT_THERE: &str = "see that it runs there and that this machine can reach it";
const SET_PASSWORD: &str = "set the user in store.url and store.password as the database has them";

/// The error of a request or a connection.
pub(super) fn of(error: &Error, settings: &PostgresSettings) -> StoreError {
    let Some(said) = error.as_db_error() else {
        let why = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        let advice = if why.contains("password missing") { SET_PASSWORD } else { IS_IT_THERE };
        return with_advice(why, settings, advice);
    };
    let advice = match *said.code() {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => SET_PASSWORD,
        SqlState::INVALID_CATALOG_NAME => "create the database, or correct its name in store.url",
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "let the user own the database, or grant it CREATE on the schema and all rights on its tables"
        }
        SqlState::TOO_MANY_CONNECTIONS => "raise max_connections there, or lower store.connections on each node",
        SqlState::READ_ONLY_SQL_TRANSACTION => "write the primary server in store.url, or all of them",
        SqlState::DISK_FULL => "make room on the disk of the database",
        SqlState::QUERY_CANCELED => "look at what holds its locks in pg_stat_activity, or raise store.request-timeout",
        _ => IS_IT_THERE,
    };
    with_advice(format!("{} ({})", said.message(), said.code().code()), settings, advice)
}

/// Nothing came in time.
pub(super) fn timeout(settings: &PostgresSettings, what: &str, after: impl Display) -> StoreError {
    with_advice(format!("{what} within {after}"), settings, IS_IT_THERE)
}

pub(super) fn with_advice(why: String, settings: &PostgresSettings, advice: &str) -> StoreError {
    StoreError(format!("{why}: {settings} ({advice})"))
}

/// Whether a connection must not be used again although it is open: another one may reach another server.
pub(super) fn is_of_the_connection(error: &Error) -> bool {
    error.is_closed()
        || matches!(
            error.code(),
            Some(
                &SqlState::READ_ONLY_SQL_TRANSACTION
                    | &SqlState::ADMIN_SHUTDOWN
                    | &SqlState::CRASH_SHUTDOWN
                    | &SqlState::CANNOT_CONNECT_NOW
                    | &SqlState::UNDEFINED_TABLE
            )
        )
}
