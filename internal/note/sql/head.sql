-- head: keep the newest number of the feed the newest one until the commit, for a
-- transaction that has follows begin, and count that.
--
-- returns  the number
UPDATE feed_head SET follows = follows + 1 WHERE id = 1 RETURNING seq
