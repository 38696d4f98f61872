-- atshops: reads ranges of the note lists of several shops, newest first.
--
-- $1  a JSON array of {of, below, most}: shop id, exclusive upper bound of the
--     numbers, and maximum number of notes
--
-- returns  shop, number, note
SELECT a.of, n.seq, n.id
FROM jsonb_to_recordset($1::jsonb) AS a (of bigint, below bigint, most bigint)
CROSS JOIN LATERAL (
  SELECT n.seq, n.id
  FROM notes AS n
  WHERE n.shop_id = a.of AND n.deleted_at IS NULL AND n.seq < a.below
  ORDER BY n.seq DESC
  LIMIT a.most
) AS n
ORDER BY a.of, n.seq DESC
