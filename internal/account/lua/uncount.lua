-- uncount: decrement counters. It does not change an expired counter: a new one would
-- have no expiry.
--
-- KEYS[1], KEYS[i]  the counters of count, which share one hash tag   counter
--
-- returns  number of counters that changed
--
-- One slot. O(keys).
local changed = 0
for i = 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then
    redis.call('DECR', KEYS[i])
    changed = changed + 1
  end
end
return changed
