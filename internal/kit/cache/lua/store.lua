-- store: end one load of one key. Its result is kept only while the lease still
-- belongs to this load; an invalidation has removed the lease, so whatever was
-- read before it cannot come back.
--
-- KEYS[1]  <prefix>:cache:<name>:{<k>}    string, the record (header, payload)
-- KEYS[2]  <prefix>:cache:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  token of this load
-- ARGV[2]  the record, or "" to give the lease back without storing
-- ARGV[3]  life of the record, milliseconds, at least 1; unused when ARGV[2] is ""
--
-- returns  1  done, and the lease is gone
--          0  refused: the lease expired, was invalidated or is another load's
--
-- Both keys share the hash tag {<k>}: one slot. O(1).
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[2])
if ARGV[2] ~= '' then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
return 1
