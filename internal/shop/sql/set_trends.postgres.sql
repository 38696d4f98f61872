-- set_trends: replaces the trends of locked shops. Each shop occurs once. It skips shops without
-- a change. It does not increment versions, because no cached row contains the trend.
--
-- $1  a JSON array of {id, trend}
--
-- returns  types of the changed shops
UPDATE shops AS s
SET trend = r.trend
FROM json_to_recordset($1) AS r (id bigint, trend double precision)
WHERE s.id = r.id AND s.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
  AND s.trend IS DISTINCT FROM r.trend
RETURNING s.type_id
