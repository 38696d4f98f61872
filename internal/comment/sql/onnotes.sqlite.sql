-- onnotes: reads ranges of the comments on notes, newest first, without replies.
--
-- $1  a JSON array of {note, below, most}: note id, exclusive upper bound of the comment
--     ids, and maximum number of comments
--
-- returns  note, id
SELECT note, id
FROM (
  SELECT a.value ->> 'note' AS note, a.value ->> 'most' AS most, c.id AS id,
    row_number() OVER (PARTITION BY a.value ->> 'note' ORDER BY c.id DESC) AS nth
  FROM json_each($1) AS a
  JOIN comments AS c ON c.note_id = a.value ->> 'note' AND c.root_id IS NULL AND c.id < a.value ->> 'below'
)
WHERE nth <= most
ORDER BY note, id DESC
