-- shops: read the shops.
--
-- $1  current time, in milliseconds
--
-- returns  id, type, position, price, sold, saves, imported score, score, numbers of ratings by
--          stars, numbers and sums of the aspects, opening hours, time zone, whether a voucher
--          is on sale, whether a flash voucher is
SELECT s.id, s.type_id, s.lat, s.lng, coalesce(s.avg_price, -1), s.sold, s.save_count, s.score, coalesce(s.rating_score, 0),
  s.stars_1, s.stars_2, s.stars_3, s.stars_4, s.stars_5,
  s.taste_count, s.taste_sum, s.environment_count, s.environment_sum, s.service_count, s.service_sum,
  coalesce(s.open_hours, ''), s.time_zone,
  EXISTS (SELECT FROM vouchers AS v LEFT JOIN flash_sales AS f ON f.id = v.id
    WHERE v.shop_id = s.id AND v.status = 'ON_SALE' AND (v.kind <> 'FLASH' OR f.ends_at > $1)),
  EXISTS (SELECT FROM vouchers AS v JOIN flash_sales AS f ON f.id = v.id
    WHERE v.shop_id = s.id AND v.status = 'ON_SALE' AND f.ends_at > $1)
FROM shops AS s
ORDER BY s.id
