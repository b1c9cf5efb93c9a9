//! Each request is one statement, and so one transaction: nothing is half done, whoever dies meanwhile.

/// Of the key in `$1`.
pub(super) const GET: &str = "SELECT key, value, version, expires FROM wharf_entry WHERE key = $1";

/// `$1`: key, `$2`: value, `$3`: expires, `$4`: size. A row with the new version if it was written; those who listen are
/// told when the transaction has been committed.
macro_rules! told {
    ($write:literal) => {
        concat!(
            "WITH written AS (",
            $write,
            " RETURNING key, version) SELECT version, pg_notify('wharf_store', key)::text FROM written"
        )
    };
}

pub(super) const PUT_ABSENT: &str = told!(
    "INSERT INTO wharf_entry (key, value, expires, size, version) VALUES ($1, $2, $3, $4, nextval('wharf_version'))
     ON CONFLICT (key) DO NOTHING"
);
pub(super) const PUT_ANYTHING: &str = told!(
    "INSERT INTO wharf_entry (key, value, expires, size, version) VALUES ($1, $2, $3, $4, nextval('wharf_version'))
     ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires = EXCLUDED.expires, size = EXCLUDED.size,
         version = nextval('wharf_version')"
);
/// `$5`: the version that it has. Of two at once, the second waits for the first, and finds another version.
pub(super) const PUT_VERSION: &str = told!(
    "UPDATE wharf_entry SET value = $2, expires = $3, size = $4, version = nextval('wharf_version')
     WHERE key = $1 AND version = $5"
);

pub(super) const LISTEN: &str = "LISTEN wharf_store";

pub(super) const DELETE: &str = "DELETE FROM wharf_entry WHERE key = $1 RETURNING 1";

/// From `$1` to `$2`, after `$3`, at most `$4`, and no more once they have `$5` bytes; each with how many there are of
/// `$4`. Values are read of those alone that are returned.
pub(super) const LIST: &str = "
    SELECT entry.key, entry.value, entry.version, entry.expires, page.found FROM (
        SELECT key, sum(size) OVER (ORDER BY key) - size AS before, count(*) OVER () AS found FROM (
            SELECT key, size FROM wharf_entry WHERE key >= $1 AND key < $2 AND key > $3 ORDER BY key LIMIT $4
        ) AS first
    ) AS page JOIN wharf_entry AS entry ON entry.key = page.key
    WHERE page.before < $5::bigint OR page.before = 0
    ORDER BY entry.key";

/// From `$1` to `$2`, after `$3`, at most `$4`.
pub(super) const KEYS: &str =
    "SELECT key FROM wharf_entry WHERE key >= $1 AND key < $2 AND key > $3 ORDER BY key LIMIT $4";

pub(super) const USAGE: &str =
    "SELECT count(*), coalesce(sum(size), 0)::bigint FROM wharf_entry WHERE key >= $1 AND key < $2";

/// Those that are written meanwhile are left: they may not expire any more. So are those that another node removes.
pub(super) const REMOVE_EXPIRED: &str = "
    DELETE FROM wharf_entry WHERE key IN (
        SELECT key FROM wharf_entry WHERE expires < LEAST($1, (extract(epoch FROM now()) * 1000)::bigint)
        ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING 1";
