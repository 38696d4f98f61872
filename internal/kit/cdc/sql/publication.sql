-- publication: compare the publication with the tables of the reader.
--
-- $1  name of the publication
-- $2  name of the schema of the tables
-- $3  names of tables
--
-- returns one row: exists; complete (every change of each of the tables is published);
--         exact (and of no other table, unless it is FOR ALL TABLES)
--
-- Reads catalogs only.
WITH wanted AS (
  SELECT to_regclass(format('%I.%I', $2::text, name)) AS oid FROM unnest($3::text[]) AS name
), published AS (
  SELECT r.prrelid AS oid
  FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
  WHERE p.pubname = $1
)
SELECT p.oid IS NOT NULL,
       coalesce(p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate, false)
         AND (p.puballtables OR NOT EXISTS (SELECT oid FROM wanted EXCEPT SELECT oid FROM published)),
       coalesce(p.puballtables, false) OR NOT EXISTS (SELECT oid FROM published EXCEPT SELECT oid FROM wanted)
FROM (SELECT) one LEFT JOIN pg_publication p ON p.pubname = $1
