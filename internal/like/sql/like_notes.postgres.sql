-- like_notes: inserts likes of notes, counts them, and inserts outbox jobs. It skips
-- existing likes; without a new like, it locks and writes nothing. It locks the counts
-- first, in id order, so the ids of the likes of a note follow the order of commits.
--
-- It computes the new counts from the locked rows. While it waits for a lock, another
-- transaction may change the counts or insert one of the likes; it skips that like.
--
-- The hot rank rises as package note computes it (hot.go).
--
-- $1  a JSON array of {target, user}
-- $2  now, in milliseconds
-- $3  topic of the jobs
-- $4  payloads of the jobs, a JSON array of JSON texts
-- $5  head start of the jobs, in milliseconds
--
-- returns  what, id and five numbers:
--          'like'    a new like, its note, its user
--          'existed' an existing like, its note, its user
--          'locked'  a note that was locked, its likes before
--          'counts'  a note with new likes: likes, comments, saves, hot rank, version
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
  RETURNING c.id, c.likes, c.comments, c.saves, c.hot, c.version
), job AS (
  INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
  SELECT $3::text, job.payload, 0, 0, clock.now, clock.now + $5::bigint
  FROM (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock, json_array_elements_text($4::json) AS job (payload)
  WHERE EXISTS (SELECT FROM inserted)
  RETURNING id
)
SELECT 'like', id, target_id, user_id, 0::bigint, 0::bigint, 0::bigint FROM inserted
UNION ALL
SELECT 'existed', existing, target, "user", 0, 0, 0 FROM draft WHERE existing IS NOT NULL
UNION ALL
SELECT 'locked', id, likes, 0, 0, 0, 0 FROM locked
UNION ALL
SELECT 'counts', id, likes, comments, saves, hot, version FROM counted
UNION ALL
SELECT 'job', id, 0, 0, 0, 0, 0 FROM job
