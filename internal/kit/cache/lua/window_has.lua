-- window_has: report which members a window has.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see window_read.lua)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease; unused
-- ARGV[1]  new TTL of the window, milliseconds, at least 1,
-- ARGV[2]  if it has less than this left
-- ARGV[3…] members, up to 500
--
-- returns  {mark, floor, has, has, …}  floor: the score of the window's oldest entry, "" if it has
--                                      none; has: 1 or 0 for each member
--          -1                          there is no window
--
-- The list continues below the window's oldest entry unless mark is "-inf".
--
-- Both keys share the hash tag {<k>}: one slot. O(members + log N).
local mark = redis.pcall('ZSCORE', KEYS[1], '')
if type(mark) ~= 'string' then
  return -1
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
local answer = {mark, redis.call('ZRANGE', KEYS[1], 1, 1, 'WITHSCORES')[2] or ''}
if #ARGV > 2 then
  for _, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 3))) do
    table.insert(answer, score and 1 or 0)
  end
end
return answer
