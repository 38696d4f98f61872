-- rewrite: replaces search texts of shops. It skips texts that changed since they were
-- read, and locked rows: waiting for them could deadlock.
--
-- $1  texts, a JSON array of {id, stored, wanted}
--
-- returns  ids of the rewritten rows
WITH free AS MATERIALIZED (
  SELECT s.id, a.wanted
  FROM shops AS s
  JOIN jsonb_to_recordset($1::jsonb) AS a (id bigint, stored text, wanted text) ON a.id = s.id AND a.stored = s.search
  FOR UPDATE OF s SKIP LOCKED
)
UPDATE shops AS s SET search = free.wanted
FROM free
WHERE s.id = free.id
RETURNING s.id
