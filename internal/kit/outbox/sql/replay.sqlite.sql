-- replay: have the jobs of a topic done once more that were done lately, and
-- those that are not done yet. The try that is counted takes the right to end
-- the job from every attempt under way, which may have begun too early.
--
-- $1  topic
-- $2  how far back, milliseconds
UPDATE outbox_jobs
SET done_at = NULL, keep_until = NULL, tries = tries + 1,
  due_at = min(due_at, CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
WHERE topic = $1 AND parked_at IS NULL
  AND (done_at IS NULL OR done_at >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - $2)
