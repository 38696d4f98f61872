-- session_use: read a session that is used now, and extend it at most once per interval
-- and never beyond its end. It also reports whether the row is due for a refresh. It
-- reports that once, so one of many concurrent requests writes the row.
--
-- "row" is the last use in the row plus one lifetime, even beyond "end". So the row
-- follows the use also near the end of a session, when "until" stays at "end".
--
-- KEYS[1]  session:{S}   hash: user, until, row, end; or ended
-- ARGV[1]  now, unix milliseconds
-- ARGV[2]  lifetime of a session from its last use, milliseconds
-- ARGV[3]  minimum interval between two refreshes, milliseconds
-- ARGV[4]  minimum interval between two refreshes of the row, milliseconds
--
-- returns  {1, user, end}   live   {2, user, end}   live, and the row is due
--          {0}   none, or one of an earlier version, without "end"   {-1}   ended
--
-- One key. O(1). If Redis is out of memory, the session is not extended.
local s = redis.call('HMGET', KEYS[1], 'user', 'until', 'row', 'end', 'ended')
if s[5] then
  return {-1}
end
if not s[1] or not s[4] then
  return {0}
end
local now, last = tonumber(ARGV[1]), tonumber(s[4])
if last <= now then
  return {-1}
end
local row = now + tonumber(ARGV[2])
local till = math.min(row, last)
local old = till - tonumber(s[2]) >= tonumber(ARGV[3])
local due = row - tonumber(s[3]) >= tonumber(ARGV[4])
local new = {}
if old then
  new = {'until', string.format('%.0f', till)}
end
if due then
  new[#new + 1] = 'row'
  new[#new + 1] = string.format('%.0f', row)
end
if old or due then
  local set = redis.pcall('HSET', KEYS[1], unpack(new))
  if type(set) == 'table' then
    if not string.find(set.err, 'OOM', 1, true) then
      return set
    end
    old, due = false, false
  end
end
if old then
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', till - now))
end
return {due and 2 or 1, s[1], s[4]}
