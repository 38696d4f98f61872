-- session_touch: extend a session that is used, at most once in a while and never
-- beyond its end. It also returns when the row is due for the same: the caller has
-- claimed it then, so one of many concurrent requests writes the row.
--
-- The row is due by its last use: "row" is a life after that, also beyond "end". So the
-- row follows the use in the last life of a session too, when "until" stays at "end".
--
-- KEYS[1]  session:{S}   hash: user, until, row, end; or ended
-- ARGV[1]  now, unix milliseconds
-- ARGV[2]  life of a session from its last use, milliseconds
-- ARGV[3]  shortest time between two refreshes, milliseconds
-- ARGV[4]  shortest time between two refreshes of the row, milliseconds
--
-- returns  0 gone or ended   1 it is live   2 it is live, and its row is due
--
-- One key. O(1).
local s = redis.call('HMGET', KEYS[1], 'user', 'until', 'row', 'end')
if not s[1] then
  return 0
end
local now = tonumber(ARGV[1])
local life = tonumber(ARGV[2])
local row = now + life
local till = row
if s[4] and tonumber(s[4]) < till then
  till = tonumber(s[4])
  life = till - now
end
if life <= 0 then
  return 0
end
if till - tonumber(s[2]) >= tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', till))
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', life))
end
if row - tonumber(s[3]) < tonumber(ARGV[4]) then
  return 1
end
redis.call('HSET', KEYS[1], 'row', string.format('%.0f', row))
return 2
