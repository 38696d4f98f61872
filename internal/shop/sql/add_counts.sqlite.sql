-- add_counts: adds to counters of shops. Each shop occurs once.
--
-- $1  a JSON array of {id, sold, comments}
UPDATE shops AS s
SET sold = s.sold + (r.value ->> 'sold'), comment_count = s.comment_count + (r.value ->> 'comments'), version = s.version + 1
FROM json_each($1) AS r
WHERE s.id = r.value ->> 'id'
