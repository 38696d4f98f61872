-- followers: who follows users, the newest follower first.
--
-- $1  a JSON array of {of, below, most}: the followee, the id of a follow below which to
--     begin, and how many at most
--
-- returns  the followee, id of the follow, the follower
SELECT owner, id, other
FROM (
  SELECT a.value ->> 'of' AS owner, a.value ->> 'most' AS most, f.id AS id, f.follower_id AS other,
    row_number() OVER (PARTITION BY f.followee_id ORDER BY f.id DESC) AS nth
  FROM json_each($1) AS a
  JOIN follows AS f ON f.followee_id = a.value ->> 'of' AND f.id < a.value ->> 'below'
)
WHERE nth <= most
ORDER BY owner, id DESC
