-- head: locks the newest number of the feed until the commit, for a transaction that adds
-- follows, and counts the transaction.
--
-- returns  the number
UPDATE feed_head SET follows = follows + 1 WHERE id = 1 RETURNING seq
