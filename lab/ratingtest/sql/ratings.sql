-- ratings: read the ratings.
--
-- returns  shop, user, stars, aspects, time of the last change in milliseconds
SELECT shop_id, user_id, stars, coalesce(taste, 0), coalesce(environment, 0), coalesce(service, 0), updated_at
FROM ratings
