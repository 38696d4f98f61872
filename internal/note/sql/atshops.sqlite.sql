-- atshops: reads ranges of the note lists of several shops, newest first.
--
-- $1  a JSON array of {of, below, most}: shop id, exclusive upper bound of the
--     numbers, and maximum number of notes
--
-- returns  shop, number, note
SELECT list, seq, id
FROM (
  SELECT a.value ->> 'of' AS list, a.value ->> 'most' AS most, n.seq AS seq, n.id AS id,
    row_number() OVER (PARTITION BY a.key ORDER BY n.seq DESC) AS nth
  FROM json_each($1) AS a
  JOIN notes AS n ON n.shop_id = a.value ->> 'of'
  WHERE n.deleted_at IS NULL AND n.seq < a.value ->> 'below'
)
WHERE nth <= most
ORDER BY list, seq DESC
