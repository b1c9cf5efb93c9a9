//! One connection to PostgreSQL, and the statements that it knows.

use std::collections::HashMap;

use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Connection, Error, Row, Socket, Statement};
use tokio_util::task::AbortOnDropHandle;

use super::failure;
use super::schema::{self, Found};
use super::settings::PostgresSettings;
use super::tls::{Stream, Tls};
use crate::store::StoreError;
use crate::store::tls::SET_CA;

/// A connection of the protocol, which must be polled for its client to have answers.
pub(super) type Driver = Connection<Socket, Stream<Socket>>;

pub(super) struct Session {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    _driver: AbortOnDropHandle<()>,
}

impl Session {
    /// Connects, and prepares the tables if there are none. `drive` polls the connection.
    ///
    /// # Errors
    /// If that fails, or takes longer than it may.
    pub(super) async fn open<F: Future<Output = ()> + Send + 'static>(
        settings: &PostgresSettings,
        drive: impl FnOnce(Driver) -> F,
    ) -> Result<Self, StoreError> {
        let opening = async {
            let tls = {
                let settings = settings.clone();
                tokio::task::spawn_blocking(move || Tls::of(&settings)).await
            };
            let tls = tls.map_err(|error| error.to_string()).flatten();
            let tls = tls.map_err(|why| failure::with_advice(why, settings, SET_CA))?;
            let failed = |error: Error| failure::of(&error, settings);
            // So that a request that has failed for want of an answer is not carried out later.
            let mut server = settings.server.clone();
            server.tcp_user_timeout(settings.request_timeout);
            let (mut client, driver) = server.connect(tls).await.map_err(failed)?;
            let driver = AbortOnDropHandle::new(tokio::spawn(drive(driver)));
            match schema::prepare(&mut client, settings.request_timeout).await.map_err(failed)? {
                Found::Usable => Ok(Self { client, statements: HashMap::new(), _driver: driver }),
                Found::Unusable(why, advice) => Err(failure::with_advice(why, settings, advice)),
            }
        };
        let time = settings.connect_timeout;
        timeout(time, opening).await.unwrap_or_else(|_| {
            Err(failure::timeout(settings, "there was no connection", humantime::format_duration(time)))
        })
    }

    pub(super) async fn query(
        &mut self,
        statement: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let known = match self.statements.get(statement) {
            Some(known) => known.clone(),
            None => {
                let prepared = self.client.prepare(statement).await?;
                self.statements.insert(statement, prepared.clone());
                prepared
            }
        };
        self.client.query(&known, parameters).await
    }

    /// For what has no parameters and no answer.
    pub(super) async fn execute(&self, statement: &str) -> Result<(), Error> {
        self.client.batch_execute(statement).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}
