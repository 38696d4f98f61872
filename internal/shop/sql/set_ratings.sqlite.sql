-- set_ratings: replaces the counters of ratings and the scores of locked shops. Each shop
-- occurs once.
--
-- $1  a JSON array of {id, score, stars_1, …}, with a member for each counter
UPDATE shops AS s
SET rating_score = r.value ->> 'score', version = s.version + 1,
  stars_1 = r.value ->> 'stars_1', stars_2 = r.value ->> 'stars_2', stars_3 = r.value ->> 'stars_3', stars_4 = r.value ->> 'stars_4', stars_5 = r.value ->> 'stars_5',
  taste_count = r.value ->> 'taste_count', taste_sum = r.value ->> 'taste_sum', environment_count = r.value ->> 'environment_count', environment_sum = r.value ->> 'environment_sum', service_count = r.value ->> 'service_count', service_sum = r.value ->> 'service_sum'
FROM json_each($1) AS r
WHERE s.id = r.value ->> 'id'
