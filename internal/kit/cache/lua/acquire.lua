-- acquire: after a miss, look once more and otherwise take the right to load
-- one key and to store what was loaded.
--
-- KEYS[1]  <prefix>:cache:<name>:{<k>}    string, the record (header, payload)
-- KEYS[2]  <prefix>:cache:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  token of this load
-- ARGV[2]  life of the lease, milliseconds, at least 1
-- ARGV[3]  SHA-1 in hex of a record that this reader could not decode and that
--          is to count as absent, or ""
--
-- returns  a string  the record: somebody stored it meanwhile
--          0         granted, the caller loads (also when the same token asks
--                    again, so a repeated command does not wait for itself)
--          n > 0     busy: another load holds the lease for n more milliseconds
--
-- Both keys share the hash tag {<k>}: one slot. O(1); SHA-1 over the record
-- only when ARGV[3] is given. A lease never exists without a life.
local record = redis.call('GET', KEYS[1])
if record and (ARGV[3] == '' or redis.sha1hex(record) ~= ARGV[3]) then
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
