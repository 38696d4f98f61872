-- generation: read a table's generation, or raise it. Cached lists of the table
-- say under which generation they were read, and count only under that one.
--
-- KEYS[1]  <prefix>:cache-generation:{<table>}  string, a number
-- ARGV[1]  "raise" after a write to the table, "read" otherwise
--
-- returns  the generation, as a string: it is larger than a Lua number prints
--
-- Where there is no counter, lost or never begun, it begins at the time in
-- microseconds: ahead of whatever it was before, so no list from then counts.
-- One slot. O(1). The key has no life: there is one for each table.
local now = redis.call('TIME')
local clock = tonumber(now[1]) * 1000000 + tonumber(now[2])
local old = tonumber(redis.call('GET', KEYS[1]) or '')
if old and ARGV[1] ~= 'raise' then
  return string.format('%.0f', old)
end
redis.call('PERSIST', KEYS[1]) -- a full Redis lets a script go on that has begun to write
local new = math.max((old or 0) + 1, clock)
redis.call('SET', KEYS[1], string.format('%.0f', new))
return string.format('%.0f', new)
