-- window_remove: take members out of a window that is there; where there is
-- none, take the lease away: a load that is under way may have read them.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  fewest entries of a window below which the list goes on, at least 1
-- ARGV[2…] score, member, score, member, …: 1 to 500 members. A member whose score
--          is another one stays; the score "" is any.
--
-- returns  1  the window holds none of the members under these scores
--          0  there is no window, and no load under way can store one
--
-- A window below which the list goes on gets nothing in place of what is taken
-- out; with fewer than ARGV[1] entries it is dropped, for the next reader to
-- load. So it always has an oldest entry.
--
-- Both keys share the hash tag {<k>}: one slot. O(members · log N). The window's
-- life is not prolonged.
local mark = redis.pcall('ZSCORE', KEYS[1], '')
if type(mark) ~= 'string' then
  redis.call('UNLINK', KEYS[1], KEYS[2])
  return 0
end
for i = 2, #ARGV, 2 do
  local stands = ARGV[i] == ''
  if not stands then
    -- As numbers: a score may be written as 1.7e+12. Up to 2^53 they are exact.
    local score = redis.call('ZSCORE', KEYS[1], ARGV[i + 1])
    stands = score and tonumber(score) == tonumber(ARGV[i])
  end
  if stands then
    redis.call('ZREM', KEYS[1], ARGV[i + 1])
  end
end
if mark ~= '-inf' and redis.call('ZCARD', KEYS[1]) - 1 < tonumber(ARGV[1]) then
  redis.call('UNLINK', KEYS[1], KEYS[2])
  return 0
end
return 1
