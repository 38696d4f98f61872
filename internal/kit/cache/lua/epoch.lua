-- epoch: read or raise the epoch of all cached data. A record holds the epoch in which it was
-- written, and a record of an earlier epoch counts as absent. So every record is reloaded on
-- demand, without a scan of the keys.
--
-- KEYS[1]  <prefix>:cache-epoch  string, a number
-- ARGV[1]  "raise" to invalidate all cached data, otherwise "read"
-- ARGV[2]  the epoch that the caller knows, 0 for none
--
-- returns  the epoch, an integer
--
-- If the epoch is missing or lower than the caller's, this Redis lost it, and its other data is
-- outdated too. Then a new epoch starts, above the known one and at least at the time in seconds,
-- ahead of all earlier ones. One slot. O(1). The key has no TTL: there is only one.
local old, known = tonumber(redis.call('GET', KEYS[1]) or ''), tonumber(ARGV[2])
if old and old >= known and ARGV[1] ~= 'raise' then
  return old
end
redis.call('PERSIST', KEYS[1]) -- a full Redis lets a script continue that has written
local new = math.max((old or 0) + 1, known + 1, tonumber(redis.call('TIME')[1]))
redis.call('SET', KEYS[1], string.format('%.0f', new))
return new
