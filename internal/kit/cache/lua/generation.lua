-- generation: read or raise the generation of a table. A cached list holds the generation under
-- which it was read, and is valid only under that one.
--
-- KEYS[1]  <prefix>:cache-generation:{<table>}  string, a number
-- ARGV[1]  "raise" after a write to the table, otherwise "read"
--
-- returns  the generation, as a string: it exceeds the digits that a Lua number prints
--
-- A missing counter, lost or new, starts at the time in microseconds, ahead of all earlier values,
-- so no older list is valid. One slot. O(1). The key has no TTL: there is one per table.
local now = redis.call('TIME')
local clock = tonumber(now[1]) * 1000000 + tonumber(now[2])
local old = tonumber(redis.call('GET', KEYS[1]) or '')
if old and ARGV[1] ~= 'raise' then
  return string.format('%.0f', old)
end
redis.call('PERSIST', KEYS[1]) -- a full Redis lets a script continue that has written
local new = math.max((old or 0) + 1, clock)
redis.call('SET', KEYS[1], string.format('%.0f', new))
return string.format('%.0f', new)
