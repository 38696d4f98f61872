-- window_store: end one load of one window. Store its result only while the lease belongs to this
-- load. Add, Remove and Invalidate remove the lease, so a list that was read before them cannot
-- return.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- KEYS[3]  <prefix>:<name>:{<k>}:s  string, for unions only: score of the newest included source
--                                   (see union_read.lua)
-- ARGV[1]  token of this load
-- ARGV[2]  score of the marker, or "" to release the lease without storing
-- ARGV[3]  TTL of the window, milliseconds, at least 1; unused if ARGV[2] is ""
-- ARGV[4]  value of KEYS[3], or "" if this is no union
-- ARGV[5…] score, member, score, member, …: up to 5000 entries
--
-- returns  1  done, the lease is removed
--          0  refused: the lease expired, was removed or belongs to another load
--
-- All keys share the hash tag {<k>}: one slot. O(N log N), in ZADDs of 500.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[2])
if ARGV[2] == '' then
  return 1
end
redis.call('UNLINK', KEYS[1])
redis.call('ZADD', KEYS[1], ARGV[2], '')
for first = 5, #ARGV, 1000 do
  redis.call('ZADD', KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if ARGV[4] ~= '' then
  redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[3])
end
return 1
