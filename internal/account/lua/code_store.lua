-- code_store: keep a new login code for a phone, in place of the one before,
-- unless the phone has had one within the last minute or too many today.
--
-- KEYS[1]  code:{P}               hash: code, tries
-- KEYS[2]  code-limit:{P}:pause   string, there while no other code may be sent
-- KEYS[3]  code-limit:{P}:day     counter
-- ARGV[1]  the code
-- ARGV[2]  life of the code, milliseconds
-- ARGV[3]  pause between two codes, milliseconds
-- ARGV[4]  most codes in one life of the counter
-- ARGV[5]  life of the counter from the first code on, milliseconds
--
-- returns  0 kept   n>0 not kept; the phone may have one in n milliseconds
--
-- All keys share the hash tag {P}: one slot. O(1).
if redis.call('EXISTS', KEYS[2]) == 1 then
  return math.max(redis.call('PTTL', KEYS[2]), 1)
end
if tonumber(redis.call('GET', KEYS[3]) or '0') >= tonumber(ARGV[4]) then
  return math.max(redis.call('PTTL', KEYS[3]), 1)
end
if redis.call('INCR', KEYS[3]) == 1 then
  redis.call('PEXPIRE', KEYS[3], ARGV[5])
end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[3])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'code', ARGV[1], 'tries', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0
