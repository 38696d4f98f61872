-- count: reads the stored and the actual counters of a page of shops. One statement, so that
-- rows and counters are consistent.
--
-- $1  id before the page
-- $2  maximum number of shops
--
-- returns  id, imported score, score; stored: ratings by stars, number and sum of taste, of
--          environment and of service; actual: the same
WITH page AS (
  SELECT id, score, rating_score, stars_1, stars_2, stars_3, stars_4, stars_5, taste_count, taste_sum, environment_count, environment_sum, service_count, service_sum
  FROM shops WHERE id > $1 ORDER BY id LIMIT $2
), actual AS (
  SELECT p.id,
    count(CASE WHEN r.stars = 1 THEN 1 END) AS stars_1, count(CASE WHEN r.stars = 2 THEN 1 END) AS stars_2, count(CASE WHEN r.stars = 3 THEN 1 END) AS stars_3,
    count(CASE WHEN r.stars = 4 THEN 1 END) AS stars_4, count(CASE WHEN r.stars = 5 THEN 1 END) AS stars_5,
    count(r.taste) AS taste_count, CAST(coalesce(sum(r.taste), 0) AS bigint) AS taste_sum,
    count(r.environment) AS environment_count, CAST(coalesce(sum(r.environment), 0) AS bigint) AS environment_sum,
    count(r.service) AS service_count, CAST(coalesce(sum(r.service), 0) AS bigint) AS service_sum
  FROM page AS p LEFT JOIN ratings AS r ON r.shop_id = p.id
  GROUP BY p.id
)
SELECT s.id, s.score, s.rating_score,
  s.stars_1, s.stars_2, s.stars_3, s.stars_4, s.stars_5, s.taste_count, s.taste_sum, s.environment_count, s.environment_sum, s.service_count, s.service_sum,
  a.stars_1, a.stars_2, a.stars_3, a.stars_4, a.stars_5, a.taste_count, a.taste_sum, a.environment_count, a.environment_sum, a.service_count, a.service_sum
FROM actual AS a JOIN page AS s ON s.id = a.id
ORDER BY s.id
