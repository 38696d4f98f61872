-- take_token: take a free lock, with a token greater than those of all earlier holders. The clock
-- of the server makes a token greater if Redis lost the latest one.
--
-- KEYS[1]  <prefix>lock:<name>        string, set by its holder
-- KEYS[2]  <prefix>lock:<name>:token  the latest token; without expiry
-- ARGV[1]  value of the caller
-- ARGV[2]  TTL in milliseconds
--
-- returns  the token, or 0 if another process holds the lock
-- slot     two keys: not for a cluster
-- cost     O(1)
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 0
end
local now = redis.call('TIME')
local token = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, now[1] * 1000000 + now[2])
redis.call('SET', KEYS[2], string.format('%.0f', token))
return token
