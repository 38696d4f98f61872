-- add_counts: add to the counters of users. Each user occurs once.
--
-- $1  a JSON array of {id, followers, followees, notes, points}
--
-- returns  user, followers, followees, notes after the change
--
-- The array of ids makes the planner use the index: it expects 100 rows of the JSON.
UPDATE users AS u
SET follower_count = u.follower_count + r.followers, followee_count = u.followee_count + r.followees,
  note_count = u.note_count + r.notes, points = u.points + r.points,
  follow_version = u.follow_version + CASE r.followees WHEN 0 THEN 0 ELSE 1 END, version = u.version + 1
FROM json_to_recordset($1) AS r (id bigint, followers bigint, followees bigint, notes bigint, points bigint)
WHERE u.id = r.id AND u.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
RETURNING u.id, u.follower_count, u.followee_count, u.note_count
