//! Sums of what is below some prefixes, so that nothing has to be added up before each write of a value with a quota.
//!
//! Triggers keep them, so no write can forget it, of whatever release. Keys that begin alike in their first three parts
//! (all values of one user of one plugin) have one sum: those who write them wait for each other until they have
//! committed, and nobody else does.

use crate::store::QUOTAS;

/// The sums, and what keeps them. `$` are those of quoted bodies.
pub(super) const TABLES: &str = "
    CREATE TABLE wharf_usage (
        prefix text COLLATE \"C\" PRIMARY KEY,
        entries bigint NOT NULL,
        bytes bigint NOT NULL
    );
    CREATE FUNCTION wharf_counted(key text) RETURNS text LANGUAGE sql IMMUTABLE AS $counted$
        SELECT coalesce(substring(key FROM '^[^/]*/[^/]*/[^/]*/'), key)
    $counted$;
    CREATE FUNCTION wharf_count() RETURNS trigger LANGUAGE plpgsql AS $count$
        DECLARE
            counted text := wharf_counted(coalesce(NEW.key, OLD.key));
            more bigint := (NEW.key IS NOT NULL)::int - (OLD.key IS NOT NULL)::int;
            grown bigint := coalesce(NEW.size, 0) - coalesce(OLD.size, 0);
        BEGIN
            INSERT INTO wharf_usage AS used VALUES (counted, more, grown) ON CONFLICT (prefix)
                DO UPDATE SET entries = used.entries + excluded.entries, bytes = used.bytes + excluded.bytes;
            IF more < 0 THEN
                DELETE FROM wharf_usage WHERE prefix = counted AND entries = 0;
            END IF;
            RETURN NULL;
        END
    $count$;
    CREATE TRIGGER wharf_added AFTER INSERT ON wharf_entry
        FOR EACH ROW WHEN (starts_with(NEW.key, 'keyvalue/')) EXECUTE FUNCTION wharf_count();
    CREATE TRIGGER wharf_replaced AFTER UPDATE ON wharf_entry
        FOR EACH ROW WHEN (starts_with(OLD.key, 'keyvalue/') AND OLD.size <> NEW.size) EXECUTE FUNCTION wharf_count();
    CREATE TRIGGER wharf_removed AFTER DELETE ON wharf_entry
        FOR EACH ROW WHEN (starts_with(OLD.key, 'keyvalue/')) EXECUTE FUNCTION wharf_count();
";

/// The sums of what is there already.
pub(super) const FILL: &str = "
    INSERT INTO wharf_usage SELECT wharf_counted(key), count(*), sum(size) FROM wharf_entry
        WHERE key >= 'keyvalue/' AND key < 'keyvalue0' GROUP BY 1;
";

/// From `$1` to `$2`, if that [has sums](covers).
pub(super) const USAGE: &str = "
    SELECT coalesce(sum(entries), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM wharf_usage
    WHERE prefix >= $1 AND prefix < $2";

/// Whether what is below a prefix are whole sums.
pub(super) fn covers(prefix: &str) -> bool {
    let parts = prefix.matches('/').count();
    prefix.starts_with(QUOTAS) && (parts < 3 || parts == 3 && prefix.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_the_first_three_parts() {
        for prefix in ["keyvalue/", "keyvalue/n", "keyvalue/notes/", "keyvalue/notes/a", "keyvalue/notes/ada/"] {
            assert!(covers(prefix), "{prefix}");
        }
        for prefix in ["", "keyvalue", "tasks/", "keyvalue/notes/ada/b", "keyvalue/notes/ada/bucket/"] {
            assert!(!covers(prefix), "{prefix}");
        }
        assert!(TABLES.matches(&format!("'{QUOTAS}'")).count() == 3 && FILL.contains(&format!("'{QUOTAS}'")));
    }
}
