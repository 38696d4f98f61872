-- block: numbers notes, in the order of the array.
--
-- $1  a JSON array of note ids
-- $2  the number before the first
UPDATE notes SET seq = $2 + a.key + 1
FROM json_each($1) AS a
WHERE notes.id = a.value
