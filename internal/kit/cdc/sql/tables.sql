-- tables: return the key column of each of these tables.
--
-- $1  name of their schema
-- $2  names of tables
--
-- returns a row for each: its name; whether it exists; its primary key if that is one
--         column, else ''; its replica identity (d: the primary key, f: the whole row,
--         n: nothing, i: another index)
--
-- Reads catalogs only. An UPDATE or DELETE of a published table without a replica identity
-- fails: such a table must not be published.
SELECT n.name,
       c.oid IS NOT NULL,
       coalesce((
         SELECT a.attname
         FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
         WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1
       ), ''),
       coalesce(c.relreplident::text, '')
FROM unnest($2::text[]) AS n(name)
LEFT JOIN pg_class c ON c.oid = to_regclass(format('%I.%I', $1::text, n.name)) AND c.relkind = 'r'
