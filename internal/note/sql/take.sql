-- take: takes consecutive numbers of the feed.
--
-- $1  how many
--
-- returns  the last one, and the number of earlier transactions that added follows
UPDATE feed_head SET seq = seq + $1 WHERE id = 1 RETURNING seq, follows
