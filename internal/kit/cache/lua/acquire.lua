-- acquire: after a miss, look once more and otherwise take the right to load
-- one key and to store what was loaded.
--
-- KEYS[1]  <prefix>:cache:<name>:{<k>}    string, the record (header, payload)
-- KEYS[2]  <prefix>:cache:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  token of this load
-- ARGV[2]  life of the lease, milliseconds, at least 1
-- ARGV[3]  what a record begins with that this reader saw and that is to count
--          as absent, because it cannot be read or has to be loaded anew
-- ARGV[4]  "1" if ARGV[3] is given, "" if no record counts as absent
--
-- returns  a string  the record: somebody stored it meanwhile
--          0         granted, the caller loads (also when the same token asks
--                    again, so a repeated command does not wait for itself)
--          n > 0     busy: another load holds the lease for n more milliseconds
--
-- Both keys share the hash tag {<k>}: one slot. O(1). A lease never exists
-- without a life. Of a record that was rejected, its first bytes tell it from
-- the one that replaced it: they hold when and how long it was loaded.
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
