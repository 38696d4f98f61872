-- swap: atomically replaces a set of shops with a newly built one.
--
-- KEYS[1]  built    GEO zset, removed
-- KEYS[2]  served   GEO zset, replaced
-- ARGV     members to look up in the new set
--
-- returns  one score per member, or false if missing; then the members within 1 km of 120, 30
redis.call('RENAME', KEYS[1], KEYS[2])
local scores = redis.call('ZMSCORE', KEYS[2], unpack(ARGV))
scores[#scores + 1] = redis.call('GEOSEARCH', KEYS[2], 'FROMLONLAT', 120, 30, 'BYRADIUS', 1, 'km', 'ASC')
return scores
