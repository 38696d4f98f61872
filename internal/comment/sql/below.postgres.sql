-- below: reads ranges of the replies to comments, oldest first.
--
-- $1  a JSON array of {root, after, most}: comment id, exclusive lower bound of the
--     reply ids, and maximum number of replies
--
-- returns  root, id
SELECT a.root, c.id
FROM jsonb_to_recordset($1::jsonb) AS a (root bigint, after bigint, most bigint)
CROSS JOIN LATERAL (
  SELECT c.id
  FROM comments AS c
  WHERE c.root_id = a.root AND c.root_id IS NOT NULL AND c.id > a.after
  ORDER BY c.id
  LIMIT a.most
) AS c
ORDER BY a.root, c.id
