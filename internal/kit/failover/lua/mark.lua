-- mark: write the mark of a Redis's incarnation with the time of its clock, unless another
-- process has changed it.
--
-- KEYS[1]  string, the mark: "INCARNATION ID MILLISECONDS"
-- ARGV[1]  the mark that the caller read, "" if there was none
-- ARGV[2]  the new one without its time: "INCARNATION ID "
-- ARGV[3]  its TTL, milliseconds
--
-- returns  1 written   0 not: the mark differs from ARGV[1]
--
-- One slot. O(1). The mark always has a TTL.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
local now = redis.call('TIME')
local ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
redis.call('SET', KEYS[1], ARGV[2] .. string.format('%.0f', ms), 'PX', ARGV[3])
return 1
