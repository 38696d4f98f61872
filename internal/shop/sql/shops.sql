-- shops: reads shops.
--
-- $1  shop ids
--
-- returns  the columns that fromRow in shop.go needs
SELECT id, type_id, owner_id, name, images, area, address, lat, lng, avg_price, sold, comment_count, save_count, rating_score,
  stars_1, stars_2, stars_3, stars_4, stars_5, taste_count, taste_sum, environment_count, environment_sum, service_count, service_sum,
  vouchers_until, flash_until, phone, website, time_zone, open_hours, version FROM shops
WHERE id = ANY($1)
