-- block: give notes their numbers, in the order in which they stand.
--
-- $1  a JSON array of the notes' ids
-- $2  the number before the first
UPDATE notes SET seq = $2::bigint + a.nth
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS a (id, nth)
WHERE notes.id = a.id::bigint
