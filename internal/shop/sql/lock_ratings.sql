-- lock_ratings: locks shops, in id order.
--
-- $1  shop ids
--
-- returns  id, owner, imported score, the counters of ratings, number of saves
SELECT id, owner_id, score, stars_1, stars_2, stars_3, stars_4, stars_5,
  taste_count, taste_sum, environment_count, environment_sum, service_count, service_sum, save_count
FROM shops
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
