-- union_join: add the entries of new sources to a union, and record up to which source it is
-- complete. It is appended to window_put.lua.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, a window (see union_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- KEYS[3]  <prefix>:<name>:{<k>}:s  string: score of the newest included source
-- ARGV[1]  N, maximum entries of the union, at least 1
-- ARGV[2]  score of the marker if the union continues below the window
-- ARGV[3]  expected value of KEYS[3]: the entries are of the sources that joined after it
-- ARGV[4]  new value of KEYS[3]
-- ARGV[5…] score, member, score, member, …: the newest entries of those sources, up to N + 1, so
--          that a window that they fill is known to continue
--
-- returns  1  done
--          0  another reader was faster or the union does not exist: the reader reads again
--
-- All keys share the hash tag {<k>}: one slot. O(entries · log N). It does not renew the TTL.
if redis.call('GET', KEYS[3]) ~= ARGV[3] then
  return 0
end
if put(tonumber(ARGV[1]), ARGV[2], 5) == 0 then
  return 0
end
redis.call('SET', KEYS[3], ARGV[4], 'KEEPTTL')
return 1
