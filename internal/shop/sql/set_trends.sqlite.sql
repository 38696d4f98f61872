-- set_trends: replaces the trends of shops. Each shop occurs once. It skips shops without a
-- change. It does not increment versions, because no cached row contains the trend.
--
-- $1  a JSON array of {id, trend}
--
-- returns  types of the changed shops
UPDATE shops AS s
SET trend = r.value ->> 'trend'
FROM json_each($1) AS r
WHERE s.id = r.value ->> 'id' AND s.trend IS NOT (r.value ->> 'trend')
RETURNING type_id
