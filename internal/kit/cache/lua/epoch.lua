-- epoch: read the epoch of all that is cached, or raise it. A record says in
-- which epoch it was written, and one of an earlier epoch counts as absent: so
-- everything misses once, without a walk over the keys.
--
-- KEYS[1]  <prefix>:cache-epoch  string, a number
-- ARGV[1]  "raise" to end all that is cached, "read" otherwise
-- ARGV[2]  the epoch that the caller knows, 0 for none
--
-- returns  the epoch, an integer
--
-- An epoch that is missing, or lower than the caller knows, is that of a Redis
-- which lost it: then what else it holds is of no use either, and a new epoch
-- begins, above the known one and at the time in seconds at least, ahead of
-- whatever there was. One slot. O(1). The key has no life: there is one.
local old, known = tonumber(redis.call('GET', KEYS[1]) or ''), tonumber(ARGV[2])
if old and old >= known and ARGV[1] ~= 'raise' then
  return old
end
redis.call('PERSIST', KEYS[1]) -- a full Redis lets a script go on that has begun to write
local new = math.max((old or 0) + 1, known + 1, tonumber(redis.call('TIME')[1]))
redis.call('SET', KEYS[1], string.format('%.0f', new))
return new
