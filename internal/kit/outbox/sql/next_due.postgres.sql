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
    WHERE done_at IS NULL AND parked_at IS NULL
      AND due_at <= (extract(epoch FROM statement_timestamp()) * 1000)::bigint
      AND topic = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))
    ORDER BY due_at, id LIMIT 1
  ) AS due,
  (
    SELECT due_at - (extract(epoch FROM statement_timestamp()) * 1000)::bigint FROM outbox_jobs
    WHERE done_at IS NULL AND parked_at IS NULL
      AND due_at > (extract(epoch FROM statement_timestamp()) * 1000)::bigint
      AND topic = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))
    ORDER BY due_at, id LIMIT 1
  ) AS next
