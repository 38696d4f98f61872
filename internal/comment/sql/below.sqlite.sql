-- below: reads ranges of the replies to comments, oldest first.
--
-- $1  a JSON array of {root, after, most}: comment id, exclusive lower bound of the
--     reply ids, and maximum number of replies
--
-- returns  root, id
SELECT root, id
FROM (
  SELECT a.value ->> 'root' AS root, a.value ->> 'most' AS most, c.id AS id,
    row_number() OVER (PARTITION BY a.value ->> 'root' ORDER BY c.id) AS nth
  FROM json_each($1) AS a
  JOIN comments AS c ON c.root_id = a.value ->> 'root' AND c.root_id IS NOT NULL AND c.id > a.value ->> 'after'
)
WHERE nth <= most
ORDER BY root, id
