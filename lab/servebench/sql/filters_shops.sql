-- filters_shops: adds shops with prices, ratings, sales, opening hours and vouchers.
--
-- $1  number of shops
-- $2  latitude of the first town
-- $3  longitude of the first town
-- $4  current time, in milliseconds
--
-- Three of five shops are in 20 towns, the others between them. A town is a normal
-- distribution of 2 km. A third of the shops has the hours of a shop with an external id
-- hours:N. A tenth has a voucher, and one in 200 a flash sale.
INSERT INTO shops (
  type_id, name, images, area, address, lat, lng, geo, avg_price, sold, save_count, score,
  stars_1, stars_2, stars_3, stars_4, stars_5, rating_score, vouchers_until, flash_until,
  open_hours, time_zone, open_mask, search, created_at, updated_at
)
SELECT t.types[1 + floor(r.type * cardinality(t.types))::int], 'Shop' || r.n, '[]', 'Quarter' || r.n % 997, '', at.lat, at.lng,
  (pg_temp.spread(floor((at.lng + 180) / 360 * 33554432)::bigint) << 1) | pg_temp.spread(floor((at.lat + 90) / 180 * 33554432)::bigint),
  CASE WHEN r.priced < 0.9 THEN round(exp(8.3 + 0.6 * sqrt(-2 * ln(1 - r.a)) * cos(2 * pi() * r.b))) END,
  CASE WHEN r.sells < 0.3 THEN floor(3 / (1 - r.c) ^ 0.9) ELSE 0 END, floor(0.2 / (1 - r.d) ^ 0.8),
  CASE WHEN r.imported < 0.1 THEN round((3 + 2 * r.quality)::numeric, 1) ELSE 0 END,
  stars.one, stars.two, stars.three, stars.four, stars.five,
  CASE WHEN stars.one + stars.two + stars.three + stars.four + stars.five > 0 THEN round(((10 * (CASE WHEN r.imported < 0.1 THEN round((3 + 2 * r.quality)::numeric, 1) ELSE 3.8 END)
    + stars.one + 2 * stars.two + 3 * stars.three + 4 * stars.four + 5 * stars.five) / (10.0 + stars.one + stars.two + stars.three + stars.four + stars.five))::numeric, 4) END,
  CASE WHEN r.offer < 0.005 THEN $4::bigint + 3600000 + (r.ends * 864000000)::bigint WHEN r.offer < 0.1 THEN 9007199254740991 END,
  CASE WHEN r.offer < 0.005 THEN $4::bigint + 3600000 + (r.ends * 864000000)::bigint END,
  h.open_hours, coalesce(h.time_zone, ''), h.open_mask, 'shop' || r.n || E'\nquarter' || r.n % 997 || E'\n', now(), now()
FROM (
  SELECT n, random() AS type, random() AS a, random() AS b, random() AS c, random() AS d, random() AS x, random() AS y, random() AS place, random() AS priced,
    random() AS sells, random() AS imported, random() AS rated, random() AS many, random() AS quality, random() AS offer, random() AS ends, random() AS open
  FROM generate_series(1, $1::bigint) AS n
) AS r
CROSS JOIN (SELECT array_agg(id ORDER BY id) AS types FROM shop_types) AS t
CROSS JOIN (SELECT array_agg(id ORDER BY id) AS ids FROM shops WHERE external_id LIKE 'hours:%') AS all_hours
CROSS JOIN LATERAL (SELECT floor(r.place / 0.6 * 20) AS town, sqrt(-2 * ln(1 - r.x)) * 0.018 AS far) AS p
CROSS JOIN LATERAL (
  SELECT CASE WHEN p.town < 20 THEN $2::float8 + 0.5 * p.town + p.far * sin(2 * pi() * r.y) ELSE $2::float8 - 0.5 + 11 * r.x END AS lat,
    CASE WHEN p.town < 20 THEN $3::float8 + 0.7 * (p.town::int % 7) + p.far * cos(2 * pi() * r.y) ELSE $3::float8 - 0.5 + 6 * r.y END AS lng
) AS at
CROSS JOIN LATERAL (SELECT CASE WHEN r.rated < 0.6 THEN floor(1 / (1 - r.many) ^ 0.9) ELSE 0 END AS total) AS ratings
CROSS JOIN LATERAL (
  SELECT round(ratings.total * 0.15 * (1 - r.quality)) AS one, round(ratings.total * 0.1 * (1 - r.quality)) AS two, round(ratings.total * 0.2 * (1 - r.quality)) AS three,
    round(ratings.total * 0.3) AS four, round(ratings.total * (0.25 + 0.45 * r.quality)) AS five
) AS stars
LEFT JOIN shops AS h ON r.open < 1.0 / 3 AND h.id = all_hours.ids[1 + floor(r.open * 3 * cardinality(all_hours.ids))::int]
