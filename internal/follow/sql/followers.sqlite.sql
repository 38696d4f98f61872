-- followers: the followers of users, newest follow first.
--
-- $1  a JSON array of {of, below, most}: followee, id of a follow to begin below, and limit
--
-- returns  followee, id of the follow, follower
SELECT owner, id, other
FROM (
  SELECT a.value ->> 'of' AS owner, a.value ->> 'most' AS most, f.id AS id, f.follower_id AS other,
    row_number() OVER (PARTITION BY f.followee_id ORDER BY f.id DESC) AS nth
  FROM json_each($1) AS a
  JOIN follows AS f ON f.followee_id = a.value ->> 'of' AND f.id < a.value ->> 'below'
)
WHERE nth <= most
ORDER BY owner, id DESC
