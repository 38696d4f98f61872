-- window_remove: remove members from an existing window. If there is no window, remove the lease: a
-- running load may have read the members.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  minimum entries of a window below which the list continues, at least 1
-- ARGV[2…] score, member, score, member, …: 1 to 500 members. A member with another score stays;
--          the score "" matches any.
--
-- returns  1  the window has none of the members under these scores
--          0  there is no window, and no running load can store one
--
-- If the list continues below the window, nothing replaces removed entries. With fewer than ARGV[1]
-- entries the window is dropped, and the next reader loads it. So it always has an oldest entry.
--
-- Both keys share the hash tag {<k>}: one slot. O(members · log N). It does not renew the TTL.
local mark = redis.pcall('ZSCORE', KEYS[1], '')
if type(mark) ~= 'string' then
  redis.call('UNLINK', KEYS[1], KEYS[2])
  return 0
end
for i = 2, #ARGV, 2 do
  local stands = ARGV[i] == ''
  if not stands then
    -- As numbers: Redis may write a score as 1.7e+12. Up to 2^53 they are exact.
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
