-- window_store: end one load of one window. Its result is kept only while the
-- lease still belongs to this load; an Add, Remove or Invalidate has removed the
-- lease, so a list that was read before it cannot come back.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- KEYS[3]  <prefix>:<name>:{<k>}:s  string, of a union alone: the newest source that it
--                                   holds (see union_read.lua)
-- ARGV[1]  token of this load
-- ARGV[2]  score of the marker, or "" to give the lease back without storing
-- ARGV[3]  life of the window, milliseconds, at least 1; unused when ARGV[2] is ""
-- ARGV[4]  score of that source, or "" of what is no union
-- ARGV[5…] score, member, score, member, …: at most 5000 entries
--
-- returns  1  done, and the lease is gone
--          0  refused: the lease expired, was taken away or is another load's
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
