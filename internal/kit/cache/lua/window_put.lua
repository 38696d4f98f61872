-- window_put: the common first part of window_add and union_join, not a script of its own. Add
-- entries to an existing window and trim it to its newest N. If there is no window, remove the
-- lease instead: a running load may have read the list without these entries.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- size     N, maximum entries of the window, at least 1
-- cut      score of the marker if the list continues below the window
-- first    index in ARGV of the entries: score, member, score, member, …; up to 5001, in ZADDs
--          of 500
--
-- returns  1  the window has those of the entries that belong into it
--          0  there is no window, and no running load can store one
--
-- Both keys share the hash tag {<k>}: one slot. O(entries · log N). It does not renew the TTL.
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
    -- Entries below the oldest one may be missing, so the window must not have any there. An oldest
    -- entry with a new score no longer marks this limit.
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
