-- take: take a block of numbers of the feed.
--
-- $1  how many
--
-- returns  the last of them, and how many transactions had follows begin before them
UPDATE feed_head SET seq = seq + $1 WHERE id = 1 RETURNING seq, follows
