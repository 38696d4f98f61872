-- replay: make the recently finished and the unfinished jobs of a topic due again. It
-- raises tries, so current attempts, which may have begun before the loss, cannot end jobs.
--
-- $1  topic
-- $2  how far back, milliseconds
UPDATE outbox_jobs
SET done_at = NULL, keep_until = NULL, tries = tries + 1,
  due_at = min(due_at, CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
WHERE topic = $1 AND parked_at IS NULL
  AND (done_at IS NULL OR done_at >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - $2)
