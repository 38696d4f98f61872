-- written: count the rows and the counters that each operation of `lab bench writes` raises by one.
--
-- returns  name, count
SELECT name, coalesce(n, 0)::bigint
FROM (
  SELECT 'likes of notes' AS name, count(*) AS n FROM likes WHERE kind = 'NOTE'
  UNION ALL SELECT 'likes counted', sum(likes) FROM note_counts
  UNION ALL SELECT 'comments', count(*) FROM comments
  UNION ALL SELECT 'comments counted', sum(comments) FROM note_counts
  UNION ALL SELECT 'follows', count(*) FROM follows
  UNION ALL SELECT 'followers counted', sum(follower_count) FROM users
  UNION ALL SELECT 'followees counted', sum(followee_count) FROM users
  UNION ALL SELECT 'check-ins', sum(length(replace(days::bit(64)::text, '0', ''))) FROM check_ins
  UNION ALL SELECT 'check-ins rewarded', sum(points) / 5 FROM users
  UNION ALL SELECT 'notes', count(*) FROM notes
  UNION ALL SELECT 'notes counted', sum(note_count) FROM users
  UNION ALL SELECT 'orders', count(*) FROM orders
  UNION ALL SELECT 'ratings', count(*) FROM ratings
  UNION ALL SELECT 'ratings counted', sum(stars_1 + stars_2 + stars_3 + stars_4 + stars_5) FROM shops
  UNION ALL SELECT 'stars', sum(stars) FROM ratings
  UNION ALL SELECT 'stars counted', sum(stars_1 + 2 * stars_2 + 3 * stars_3 + 4 * stars_4 + 5 * stars_5) FROM shops
  UNION ALL SELECT 'saves of shops', count(*) FROM saves WHERE kind = 'SHOP'
  UNION ALL SELECT 'saves counted', sum(save_count) FROM shops
) AS counts
