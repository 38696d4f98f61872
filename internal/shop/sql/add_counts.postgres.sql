-- add_counts: add to what is counted of shops, each named once.
--
-- $1  a JSON array of {id, sold, comments}
UPDATE shops AS s
SET sold = s.sold + r.sold, comment_count = s.comment_count + r.comments, version = s.version + 1
FROM json_to_recordset($1) AS r (id bigint, sold bigint, comments bigint)
WHERE s.id = r.id
