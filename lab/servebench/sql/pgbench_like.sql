-- A script of pgbench: the rows of a like in one statement, without the server's other work.
-- These are the row of the like, the counters of its note, and the outbox job of its writer.
-- A pair of user and note that exists changes nothing.
--
-- :first_user, :last_user, :first_note, :last_note  ranges of ids, from the command line
\set user random(:first_user, :last_user)
\set note random(:first_note, :last_note)
WITH liked AS (
  INSERT INTO likes (kind, target_id, user_id, created_at)
  VALUES ('NOTE', :note, :user, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)
  ON CONFLICT (kind, target_id, user_id) DO NOTHING
  RETURNING target_id, user_id, created_at
), counted AS (
  UPDATE note_counts AS c
  SET likes = c.likes + 1, hot = c.hot + 1000, version = c.version + 1
  FROM liked
  WHERE c.id = liked.target_id
)
INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
SELECT 'note-likes', json_build_object('target', target_id, 'user', user_id)::text, 0, 0, created_at, created_at
FROM liked;
