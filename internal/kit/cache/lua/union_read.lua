-- union_read: read the newest entries of a union at and below a score, of its current sources. If
-- there is no union, take the lease, the right to load it.
--
-- KEYS[1]  <prefix>:<name>:{<k>}     sorted set, a window (see window_read.lua) of entries
--                                    SOURCE/ITEM
-- KEYS[2]  <prefix>:<name>:{<k>}:l   string, the lease: token of one load
-- KEYS[3]  <prefix>:<name>:{<k>}:s   string: score of the newest included source
-- KEYS[4]  <prefix>:<other>:{<k>}    sorted set, a window: the sources, with their join scores
-- ARGV[1]  highest score
-- ARGV[2]  maximum entries, at least 1
-- ARGV[3]  new TTL of the union, milliseconds, at least 1,
-- ARGV[4]  if it has less than this left
-- ARGV[5]  new TTL of the window of sources, milliseconds, at least 1,
-- ARGV[6]  if it has less than this left
-- ARGV[7]  token of this load, or "" to read only
-- ARGV[8]  TTL of the lease, milliseconds, at least 1; unused without a token
-- ARGV[9…] names to look up among the sources, up to some thousands
--
-- returns  {newest, count, floor, n, member, score, …, has, has, …}
--                 newest: score of the newest source; count: of sources; floor: the lowest
--                 score down to which the union is complete, "" if it is whole; n: number of
--                 entries, whose members and scores follow; has: 1 or 0 for each name
--          {newest, seen}  the union lacks new sources: it includes those up to the score seen
--          0      no union; granted, the caller loads; also for a repeated command with the same
--                 token
--          n > 0  no union; another load holds the lease for n more milliseconds
--          -1     no window of the sources
--          -2     the window of the sources is not whole
--          -3     no union and no lease; only without a token
--
-- Entries of former sources are skipped, not removed: the source may join again. All keys share the
-- hash tag {<k>}: one slot. O(log N + entries passed + names). A lease always has a TTL.
local sources = redis.pcall('ZSCORE', KEYS[4], '')
if type(sources) ~= 'string' then
  return -1
end
if sources ~= '-inf' then
  return -2
end
if redis.call('PTTL', KEYS[4]) < tonumber(ARGV[6]) then
  redis.call('PEXPIRE', KEYS[4], ARGV[5])
end
local mark = redis.pcall('ZSCORE', KEYS[1], '')
local seen = redis.pcall('GET', KEYS[3])
if type(mark) ~= 'string' or type(seen) ~= 'string' or not string.match(seen, '^%d+$') then
  local holder = redis.call('GET', KEYS[2])
  if holder and holder ~= ARGV[7] then
    return math.max(redis.call('PTTL', KEYS[2]), 1)
  end
  if ARGV[7] == '' then
    return -3
  end
  -- One of the two may exist. Such a window would accept pushed entries without removing the lease
  -- of a load that read the source of truth before them.
  redis.call('UNLINK', KEYS[1], KEYS[3])
  redis.call('SET', KEYS[2], ARGV[7], 'PX', ARGV[8])
  return 0
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) or redis.call('PTTL', KEYS[3]) < tonumber(ARGV[4]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
local count = redis.call('ZCARD', KEYS[4]) - 1
local newest = count > 0 and redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2] or '0'
if tonumber(newest) > tonumber(seen) then
  return {newest, seen}
end
local floor = mark ~= '-inf' and redis.call('ZRANGE', KEYS[1], 1, 1, 'WITHSCORES')[2] or ''
local answer, n, passed, step = {newest, count, floor, 0}, 0, 0, math.min(tonumber(ARGV[2]) + 8, 500)
while n < tonumber(ARGV[2]) do
  local part = redis.call('ZRANGE', KEYS[1], ARGV[1], '-9007199254740991', 'BYSCORE', 'REV',
    'LIMIT', passed, step, 'WITHSCORES')
  local names = {}
  for i = 1, #part, 2 do
    names[#names + 1] = string.match(part[i], '^[^/]*')
  end
  if #names == 0 then
    break
  end
  local joined = redis.call('ZMSCORE', KEYS[4], unpack(names))
  for i = 1, #names do
    if joined[i] and n < tonumber(ARGV[2]) then
      n = n + 1
      answer[#answer + 1] = part[2 * i - 1]
      answer[#answer + 1] = part[2 * i]
    end
  end
  if #names < step then
    break
  end
  passed, step = passed + #names, 500
end
answer[4] = n
for first = 9, #ARGV, 500 do
  for _, score in ipairs(redis.call('ZMSCORE', KEYS[4], unpack(ARGV, first, math.min(first + 499, #ARGV)))) do
    answer[#answer + 1] = score and 1 or 0
  end
end
return answer
