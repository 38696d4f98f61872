-- add_counts: add to the counters of users. Each user occurs once.
--
-- $1  a JSON array of {id, followers, followees, notes, points}
--
-- returns  user, followers, followees, notes after the change
UPDATE users AS u
SET follower_count = u.follower_count + (r.value ->> 'followers'), followee_count = u.followee_count + (r.value ->> 'followees'),
  note_count = u.note_count + (r.value ->> 'notes'), points = u.points + (r.value ->> 'points'),
  follow_version = u.follow_version + CASE r.value ->> 'followees' WHEN 0 THEN 0 ELSE 1 END, version = u.version + 1
FROM json_each($1) AS r
WHERE u.id = r.value ->> 'id'
RETURNING id, follower_count, followee_count, note_count
