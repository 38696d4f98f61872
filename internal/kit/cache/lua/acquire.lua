-- acquire: after a miss, return the record if it exists by now. Otherwise take the lease, the right
-- to load one key and to store the result.
--
-- KEYS[1]  <prefix>:cache:<name>:{<k>}    string, the record (header, payload)
-- KEYS[2]  <prefix>:cache:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  token of this load
-- ARGV[2]  TTL of the lease, milliseconds, at least 1
-- ARGV[3]  first bytes of a record that counts as absent, because it is invalid or must be reloaded
-- ARGV[4]  "1" if ARGV[3] is set, "" if no record counts as absent
--
-- returns  a string  the record: another load stored it meanwhile
--          0         granted, the caller loads; also for a repeated command with the same token
--          n > 0     busy: another load holds the lease for n more milliseconds
--
-- Both keys share the hash tag {<k>}: one slot. O(1). A lease always has a TTL. The first bytes of
-- a rejected record distinguish it from its replacement: they hold time and duration of its load.
local record = redis.call('GET', KEYS[1])
if record and (ARGV[4] == '' or string.sub(record, 1, math.max(#ARGV[3], 1)) ~= ARGV[3]) then
  return record
end
local holder = redis.call('GET', KEYS[2])
if not holder then
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
  return 0
end
if holder == ARGV[1] then
  return 0
end
return math.max(redis.call('PTTL', KEYS[2]), 1)
