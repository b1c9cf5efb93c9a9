//! The tables, which the first node creates, or turns into those of its release.

use std::time::{Duration, Instant};

use tokio_postgres::{Client, Error};

use super::counted;
use crate::store::clock::{MAX_SKEW, now};

/// Of the tables. A node uses no tables of another version.
const VERSION: i32 = 2;
/// Held while the tables are created or changed: `IF NOT EXISTS` alone fails if two nodes do that at the same time.
const LOCK: i64 = 0x7768_6172_6601;

/// Keys are compared by their bytes, whatever the locale of the database. Sizes are in the index of keys: what is below a
/// prefix is counted without reading it. Versions are not used again, as those of deleted and added entries would be if
/// each entry counted its own.
const TABLES: &str = "
    CREATE SEQUENCE wharf_version;
    CREATE TABLE wharf_entry (
        key text COLLATE \"C\" NOT NULL,
        version bigint NOT NULL,
        expires bigint,
        size bigint NOT NULL,
        value bytea NOT NULL,
        PRIMARY KEY (key) INCLUDE (size)
    );
    CREATE INDEX wharf_entry_expires ON wharf_entry (expires) WHERE expires IS NOT NULL;
    CREATE TABLE wharf_schema (version integer NOT NULL);
";

/// Read from the catalog: `to_regclass` may answer what it knew before the lock was waited for.
const HAS_TABLES: &str =
    "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'wharf_schema' AND pg_table_is_visible(oid))";

/// What a new connection finds.
pub(super) enum Found {
    Usable,
    /// Why the database cannot be used, and what to do.
    Unusable(String, &'static str),
}

/// Prepares a connection, and the tables if there are none.
pub(super) async fn prepare(client: &mut Client, request_timeout: Duration) -> Result<Found, Error> {
    set_timeout(client, request_timeout).await?;
    let asked = Instant::now();
    let row = client
        .query_one(
            "SELECT current_setting('server_encoding'),
                    (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            &[],
        )
        .await?;
    warn_of_skew(row.get::<_, i64>(1), asked.elapsed());
    let encoding: &str = row.get(0);
    if encoding != "UTF8" {
        let why = format!("its encoding is {encoding}, not UTF8");
        return Ok(Found::Unusable(
            why,
            "create the database anew: CREATE DATABASE wharf ENCODING 'UTF8' TEMPLATE template0",
        ));
    }
    if !client.query_one(HAS_TABLES, &[]).await?.get::<_, bool>(0) {
        create(client).await?;
    }
    if version(client).await? == 1 {
        upgrade(client, request_timeout).await?;
    }
    Ok(match version(client).await? {
        VERSION => Found::Usable,
        other => {
            let why = format!("its tables have version {other}, which this program does not support");
            Found::Unusable(why, "run the same release of wharf on all nodes")
        }
    })
}

async fn create(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    // Another node may have created them meanwhile.
    if !transaction.query_one(HAS_TABLES, &[]).await?.get::<_, bool>(0) {
        transaction.batch_execute(TABLES).await?;
        transaction.batch_execute(counted::TABLES).await?;
        transaction.execute("INSERT INTO wharf_schema VALUES ($1)", &[&VERSION]).await?;
    }
    transaction.commit().await
}

async fn version(client: &Client) -> Result<i32, Error> {
    Ok(client.query_one("SELECT version FROM wharf_schema", &[]).await?.get(0))
}

/// From version 1 to 2. In one statement, which the server carries out although the connection may be given up meanwhile:
/// it takes as long as there is much.
async fn upgrade(client: &Client, request_timeout: Duration) -> Result<(), Error> {
    let (tables, fill) = (counted::TABLES, counted::FILL);
    let statement = format!(
        "DO $upgrade$ BEGIN
            PERFORM pg_advisory_xact_lock({LOCK});
            -- Another node may have done it meanwhile.
            IF (SELECT version FROM wharf_schema) = 1 THEN
                LOCK TABLE wharf_entry IN SHARE ROW EXCLUSIVE MODE;
                {tables}
                {fill}
                UPDATE wharf_schema SET version = 2;
            END IF;
        END $upgrade$"
    );
    client.batch_execute("SET statement_timeout = 0").await?;
    client.batch_execute(&statement).await?;
    set_timeout(client, request_timeout).await
}

/// So that the server does not go on with what nobody waits for any more.
async fn set_timeout(client: &Client, request_timeout: Duration) -> Result<(), Error> {
    client.batch_execute(&format!("SET statement_timeout = {}", request_timeout.as_millis())).await
}

/// `there`: the time of the server, asked for `since` ago.
fn warn_of_skew(there: i64, since: Duration) {
    let skew = Duration::from_millis((now() as i64 - there).unsigned_abs()).saturating_sub(since);
    if skew > MAX_SKEW {
        tracing::warn!(
            "the clocks of this machine and of the database differ by {}: synchronize the clocks of all nodes, since \
             tasks, budgets and answers expire by them",
            humantime::format_duration(Duration::from_secs(skew.as_secs()))
        );
    }
}
