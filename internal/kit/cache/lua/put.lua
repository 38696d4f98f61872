-- put: replace a record by a newer version, in any order of the writers. If the versions cannot be
-- compared, remove the record instead, so that the next reader loads: that is always correct.
--
-- KEYS[1]  <prefix>:cache:<name>:{<k>}    string, the record (header, payload)
-- KEYS[2]  <prefix>:cache:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  the new record, with its version in bytes 6-13 of the header and its epoch in
--          bytes 24-27
-- ARGV[2]  TTL of the record, milliseconds, at least 1
--
-- returns  1  stored: the old record had a lower version
--          2  unchanged: the old record has the same version or a higher one
--          0  removed: there was no record with a comparable version
--
-- A missing record does not show which version was current last, so a late writer must not store
-- there. It must not replace a negative record: the row may have been deleted after its commit. It
-- must not replace a record of another epoch: one of the two is not current. Storing and removing
-- both delete the lease, so that a load from before the commit cannot store afterwards.
-- Versions are compared by bytes: a Lua number holds only 53 bits. The load duration (bytes 3-5)
-- stays that of the old record: nothing was loaded.
--
-- Both keys share the hash tag {<k>}: one slot. O(1).
local HEADER, FLAGS, DELTA, VERSION, EPOCH = 28, 3, 4, 7, 25 -- Lua counts bytes from 1

local function compare(a, b)
  for i = VERSION, VERSION + 7 do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y and -1 or 1
    end
  end
  return 0
end

local old = redis.call('GET', KEYS[1])
local comparable = old and #old >= HEADER and string.sub(old, 1, 2) == string.sub(ARGV[1], 1, 2)
  and string.byte(old, FLAGS) == 0 and string.sub(old, VERSION, VERSION + 7) ~= string.rep('\0', 8)
  and string.sub(old, EPOCH, EPOCH + 3) == string.sub(ARGV[1], EPOCH, EPOCH + 3)
if not comparable then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 0
end
if compare(old, ARGV[1]) >= 0 then
  return 2
end
local new = string.sub(ARGV[1], 1, DELTA - 1) .. string.sub(old, DELTA, DELTA + 2) .. string.sub(ARGV[1], DELTA + 3)
redis.call('SET', KEYS[1], new, 'PX', ARGV[2])
redis.call('DEL', KEYS[2])
return 1
