-- set_newer: store a row unless a newer one is stored ("timestamp").
--
-- KEYS[1]  <prefix><k>     hash: version, value
-- ARGV[1]  version of the row, an integer
-- ARGV[2]  its value
-- ARGV[3]  TTL in milliseconds, at least 1
--
-- returns  1 stored   0 refused: the stored row is as new or newer
-- slot     one
-- cost     O(1)
local there = redis.call('HGET', KEYS[1], 'version')
if there and tonumber(there) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'value', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
