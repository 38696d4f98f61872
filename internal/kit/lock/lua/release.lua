-- release: give a lock up and wake those who wait for it.
--
-- KEYS[1]  the lock
-- KEYS[2]  its fence: the newest token
-- KEYS[3]  the channel of those who wait. They are told the token of the lock that
--          was released, so that they know an old release from this one
-- ARGV[1]  value of its holder
-- ARGV[2]  its token, '' if that is not known: no later one has been given out
--
-- returns  1, 0 if somebody else holds it, -1 if nobody does
local value = redis.call('GET', KEYS[1])
if value ~= ARGV[1] then
  return value and 0 or -1
end
redis.call('DEL', KEYS[1])
local token = ARGV[2]
if token == '' then
  token = redis.call('GET', KEYS[2]) or '0'
end
redis.call('PUBLISH', KEYS[3], token)
return 1
