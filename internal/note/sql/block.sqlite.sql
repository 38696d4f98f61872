-- block: give notes their numbers, in the order in which they stand.
--
-- $1  a JSON array of the notes' ids
-- $2  the number before the first
UPDATE notes SET seq = $2 + a.key + 1
FROM json_each($1) AS a
WHERE notes.id = a.value
