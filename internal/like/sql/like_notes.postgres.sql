-- like_notes: insert likes of notes, count them, and add the jobs of the outbox. Likes that
-- exist stay; where no like is new, nothing is locked or written. The counts are locked
-- first, in the order of their ids, so the ids of a note's likes grow in the order of
-- commits.
--
-- The new counts are computed from the locked rows. While the statement waits for a lock,
-- another transaction may change the counts or insert one of the likes; that like stays.
--
-- The rank of a note among hot ones rises as package note computes it (hot.go).
--
-- $1  a JSON array of {target, user}
-- $2  now, milliseconds
-- $3  the topic of the jobs
-- $4  their payloads, a JSON array of texts, each of which is JSON
-- $5  their head start, milliseconds
--
-- returns  what, id and four more numbers:
--          'like'    an inserted like, its note, its user
--          'existed' a like that existed, its note, its user
--          'locked'  a note that exists and has new likes or could have them, its likes before
--          'counts'  a note with new likes: likes, comments, its rank among hot notes, version
--          'job'     a job
WITH draft AS MATERIALIZED (
  SELECT d.target, d."user", d.nth, (SELECT l.id FROM likes AS l WHERE l.kind = 'NOTE' AND l.target_id = d.target AND l.user_id = d."user") AS existing
  FROM ROWS FROM (json_to_recordset($1) AS (target bigint, "user" bigint)) WITH ORDINALITY AS d (target, "user", nth)
), locked AS MATERIALIZED (
  SELECT c.id, c.likes, c.hot, c.version
  FROM note_counts AS c
  WHERE c.id = ANY (ARRAY(SELECT target FROM draft WHERE existing IS NULL)) AND NOT c.deleted
  ORDER BY c.id
  FOR UPDATE
), inserted AS (
  INSERT INTO likes (kind, target_id, user_id, created_at)
  SELECT 'NOTE', d.target, d."user", $2::bigint
  FROM draft AS d JOIN locked AS l ON l.id = d.target
  WHERE d.existing IS NULL
  ORDER BY d.nth
  ON CONFLICT (kind, target_id, user_id) DO NOTHING
  RETURNING id, target_id, user_id
), more AS MATERIALIZED (
  SELECT l.id, l.likes + count(*) AS likes, l.version + 1 AS version, l.hot
    + round(604800000 * log((1 + l.likes + count(*))::float8))::bigint - round(604800000 * log((1 + l.likes)::float8))::bigint AS hot
  FROM inserted AS i JOIN locked AS l ON l.id = i.target_id
  GROUP BY l.id, l.likes, l.hot, l.version
), counted AS (
  UPDATE note_counts AS c
  SET likes = m.likes, hot = m.hot, version = m.version
  FROM more AS m
  WHERE c.id = m.id AND c.id = ANY (ARRAY(SELECT id FROM more))
  RETURNING c.id, c.likes, c.comments, c.hot, c.version
), job AS (
  INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
  SELECT $3::text, job.payload, 0, 0, clock.now, clock.now + $5::bigint
  FROM (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock, json_array_elements_text($4::json) AS job (payload)
  WHERE EXISTS (SELECT FROM inserted)
  RETURNING id
)
SELECT 'like', id, target_id, user_id, 0::bigint, 0::bigint FROM inserted
UNION ALL
SELECT 'existed', existing, target, "user", 0, 0 FROM draft WHERE existing IS NOT NULL
UNION ALL
SELECT 'locked', id, likes, 0, 0, 0 FROM locked
UNION ALL
SELECT 'counts', id, likes, comments, hot, version FROM counted
UNION ALL
SELECT 'job', id, 0, 0, 0, 0 FROM job
