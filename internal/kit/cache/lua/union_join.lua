-- union_join: put what sources hold that joined a union into it, and write down up to which
-- source it holds them now (window_put.lua stands before this).
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, a window (see union_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- KEYS[3]  <prefix>:<name>:{<k>}:s  string: score of the newest source whose entries it holds
-- ARGV[1]  N, most entries of the union, at least 1
-- ARGV[2]  score of the marker when the union goes on below the window
-- ARGV[3]  what KEYS[3] has to be: the sources that joined after this are those of the entries
-- ARGV[4]  what it is then
-- ARGV[5…] score, member, score, member, …: the newest entries of those sources, one more
--          than N if there are so many: so that a window that they fill is known to go on
--
-- returns  1  done
--          0  somebody else did it or the union is gone: the reader begins anew
--
-- All keys share the hash tag {<k>}: one slot. O(entries · log N). The life is not prolonged.
if redis.call('GET', KEYS[3]) ~= ARGV[3] then
  return 0
end
if put(tonumber(ARGV[1]), ARGV[2], 5) == 0 then
  return 0
end
redis.call('SET', KEYS[3], ARGV[4], 'KEEPTTL')
return 1
