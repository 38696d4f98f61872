-- block: numbers notes, in the order of the array.
--
-- $1  a JSON array of note ids
-- $2  the number before the first
UPDATE notes SET seq = $2::bigint + a.nth
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS a (id, nth)
WHERE notes.id = a.id::bigint
