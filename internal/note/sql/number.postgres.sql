-- number: takes the next number of the feed, stores it in the published note, and inserts
-- the event. One statement, because all publishers wait for the head row, which is locked
-- from here to the commit.
--
-- $1  the note
-- $2  its author
-- $3  ADDED or REMOVED
--
-- returns  the number, and the number of earlier transactions that added follows
WITH head AS (
  UPDATE feed_head SET seq = seq + 1 WHERE id = 1 RETURNING seq, follows
), published AS (
  UPDATE notes SET seq = head.seq FROM head WHERE notes.id = $1 AND $3::text = 'ADDED'
), written AS (
  INSERT INTO note_events (seq, kind, note_id, author_id)
  SELECT head.seq, $3::text, $1::bigint, $2::bigint FROM head
)
SELECT head.seq, head.follows FROM head
