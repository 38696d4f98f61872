-- acquire: take a lock that nobody holds, and the next fencing token with it.
--
-- KEYS[1]  the lock: a string, the value of its holder
-- KEYS[2]  its fence: the newest token
-- ARGV[1]  value of this attempt; an attempt that is sent again finds its own
-- ARGV[2]  life of the lock, milliseconds
-- ARGV[3]  life of the fence, milliseconds
--
-- returns  the token, or { milliseconds that the holder has left, newest token, its value }
--
-- A token is the server's time in microseconds, or one more than the newest if
-- that is greater: one that was lost, or is as old as a replica was, is not given
-- out twice, unless the clock of the server that goes on is behind too. If the
-- fence is something else, the lock is given back: an error grants nothing.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local token = string.format('%.0f', now)
  local newest = redis.pcall('SET', KEYS[2], token, 'PX', ARGV[3], 'GET')
  if not newest then
    return token
  end
  if newest.err then
    redis.call('DEL', KEYS[1])
    return newest
  end
  newest = tonumber(newest) or 0
  if newest >= now and newest < 9007199254740991 then
    token = string.format('%.0f', newest + 1)
    redis.call('SET', KEYS[2], token, 'PX', ARGV[3])
  end
  return token
end
local newest = tonumber(redis.call('GET', KEYS[2]) or '0') or 0
if not (newest >= 0 and newest < 9007199254740992) then
  newest = 0
end
local token = string.format('%.0f', newest)
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  return token
end
return { redis.call('PTTL', KEYS[1]), token, value }
