-- sweep: delete some fences that nobody registered for long. Both dialects.
--
-- $1  those that were registered before, milliseconds since 1970
-- $2  how many at most
--
-- The condition stands twice for Postgres: it looks again at a row that it had to
-- wait for, as somebody just registered there.
DELETE FROM lock_fences
WHERE registered_at < $1
  AND name IN (SELECT name FROM lock_fences WHERE registered_at < $1 ORDER BY registered_at LIMIT $2)
