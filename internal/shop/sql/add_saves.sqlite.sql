-- add_saves: adds to the number of saves of locked shops. Each shop occurs once.
--
-- $1  a JSON array of {id, more}
UPDATE shops AS s
SET save_count = s.save_count + (r.value ->> 'more'), version = s.version + 1
FROM json_each($1) AS r
WHERE s.id = r.value ->> 'id'
