-- scoped: a name that installations in several schemas of one database do not share.
--
-- $1  name
--
-- returns one row: the name, with the oid of the current schema unless that is public
SELECT $1::text || coalesce('_' || (
  SELECT oid FROM pg_namespace WHERE nspname = current_schema() AND nspname <> 'public'
), '')
