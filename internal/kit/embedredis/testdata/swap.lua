-- swap: put a freshly built set of places in the place of the old one, in one step.
--
-- KEYS[1]  built    GEO zset, gone afterwards
-- KEYS[2]  served   GEO zset, replaced
-- ARGV     members to look up in the new set
--
-- returns  one score per member, or false where there is none; then the members within 1 km of 120, 30
redis.call('RENAME', KEYS[1], KEYS[2])
local scores = redis.call('ZMSCORE', KEYS[2], unpack(ARGV))
scores[#scores + 1] = redis.call('GEOSEARCH', KEYS[2], 'FROMLONLAT', 120, 30, 'BYRADIUS', 1, 'km', 'ASC')
return scores
