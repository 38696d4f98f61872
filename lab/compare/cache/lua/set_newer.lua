-- set_newer: keep a row unless a newer one is kept ("timestamp").
--
-- KEYS[1]  <prefix><k>     hash: version, value
-- ARGV[1]  version of the row, an integer
-- ARGV[2]  its value
-- ARGV[3]  its life, milliseconds, at least 1
--
-- returns  1 kept   0 refused: what is there is as new or newer
--
-- One key: one slot. O(1).
local there = redis.call('HGET', KEYS[1], 'version')
if there and tonumber(there) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'value', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
