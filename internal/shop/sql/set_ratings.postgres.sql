-- set_ratings: replaces the counters of ratings and the scores of locked shops. Each shop
-- occurs once.
--
-- $1  a JSON array of {id, score, stars_1, …}, with a member for each counter
--
-- The array of ids makes the planner use the index: it expects 100 rows from JSON.
UPDATE shops AS s
SET rating_score = r.score, version = s.version + 1,
  stars_1 = r.stars_1, stars_2 = r.stars_2, stars_3 = r.stars_3, stars_4 = r.stars_4, stars_5 = r.stars_5,
  taste_count = r.taste_count, taste_sum = r.taste_sum, environment_count = r.environment_count, environment_sum = r.environment_sum, service_count = r.service_count, service_sum = r.service_sum
FROM json_to_recordset($1) AS r (id bigint, score double precision, stars_1 bigint, stars_2 bigint, stars_3 bigint, stars_4 bigint, stars_5 bigint,
  taste_count bigint, taste_sum bigint, environment_count bigint, environment_sum bigint, service_count bigint, service_sum bigint)
WHERE s.id = r.id AND s.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
