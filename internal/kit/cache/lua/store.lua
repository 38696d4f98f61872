-- store: end one load of one key. Store its result only while the lease belongs to this load. An
-- invalidation removes the lease, so data that was read before it cannot return.
--
-- KEYS[1]  <prefix>:cache:<name>:{<k>}    string, the record (header, payload)
-- KEYS[2]  <prefix>:cache:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  token of this load
-- ARGV[2]  the record, or "" to release the lease without storing
-- ARGV[3]  TTL of the record, milliseconds, at least 1; unused if ARGV[2] is ""
--
-- returns  1  done, the lease is removed
--          0  refused: the lease expired, was invalidated or belongs to another load
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
