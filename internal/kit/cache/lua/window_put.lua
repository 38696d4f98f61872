-- window_put: no script of its own, but what window_add and union_join begin with: put
-- entries into a window that is there, and keep its newest N. Where there is none, take
-- the lease away instead: a load that is under way may have read the list before these
-- entries were in it.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- size     N, most entries of the window, at least 1
-- cut      score of the marker when the list goes on below the window
-- first    index in ARGV of the entries: score, member, score, member, …; up to 5001,
--          in ZADDs of 500
--
-- returns  1  the window holds those of the entries that belong into it
--          0  there is no window, and no load under way can store one
--
-- Both keys share the hash tag {<k>}: one slot. O(entries · log N). The window's
-- life is not prolonged.
local function put(size, cut, first)
  local mark = redis.pcall('ZSCORE', KEYS[1], '')
  if type(mark) ~= 'string' then
    redis.call('UNLINK', KEYS[1], KEYS[2])
    return 0
  end
  if #ARGV < first then
    return 1
  end
  local floor = mark ~= '-inf' and redis.call('ZRANGE', KEYS[1], 1, 1, 'WITHSCORES')
  for at = first, #ARGV, 1000 do
    redis.call('ZADD', KEYS[1], unpack(ARGV, at, math.min(at + 999, #ARGV)))
  end
  if floor then
    -- Below the oldest entry others may be missing, so nothing may be kept there. An
    -- oldest entry that was given another score marks that place no longer.
    if redis.call('ZSCORE', KEYS[1], floor[1]) ~= floor[2] then
      redis.call('UNLINK', KEYS[1], KEYS[2])
      return 0
    end
    local below = redis.call('ZRANK', KEYS[1], floor[1]) - 1
    if below > 0 then
      redis.call('ZREMRANGEBYRANK', KEYS[1], 1, below)
    end
  end
  local excess = redis.call('ZCARD', KEYS[1]) - 1 - size
  if excess > 0 then
    redis.call('ZREMRANGEBYRANK', KEYS[1], 1, excess)
    redis.call('ZADD', KEYS[1], cut, '')
  end
  return 1
end
