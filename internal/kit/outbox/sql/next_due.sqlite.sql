-- next_due: report whether a job is due, and when the next one will be. It locks and writes
-- nothing, and reads a few entries of the index of due times.
--
-- $1  topics, a JSON array
--
-- returns  due, whether a job can be claimed; next, milliseconds until another job
--          becomes due, NULL if there is none
SELECT
  EXISTS (
    SELECT 1 FROM outbox_jobs
    WHERE done_at IS NULL AND parked_at IS NULL AND due_at <= clock.now
      AND topic IN (SELECT value FROM json_each($1))
  ) AS due,
  (
    SELECT due_at - clock.now FROM outbox_jobs
    WHERE done_at IS NULL AND parked_at IS NULL AND due_at > clock.now
      AND topic IN (SELECT value FROM json_each($1))
    ORDER BY due_at, id LIMIT 1
  ) AS next
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now) AS clock
