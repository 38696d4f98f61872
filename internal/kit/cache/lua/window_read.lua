-- window_read: read one page of a window, newest first. If there is no window and a token is given,
-- take the lease, the right to load it.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see below)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  first score of the page: the cursor's, or "+inf"
-- ARGV[2]  maximum entries in addition to those with score ARGV[1], at least 1
-- ARGV[3]  new TTL of the window, milliseconds, at least 1,
-- ARGV[4]  if it has less than this left
-- ARGV[5]  token of this load, or "" to read only
-- ARGV[6]  TTL of the lease, milliseconds, at least 1; unused without a token
--
-- returns  {mark, member, score, member, score, …}  the page
--          0      granted, the caller loads; also for a repeated command with the same token
--          n > 0  busy: another load holds the lease for n more milliseconds
--          -1     there is no window; only without a token
--
-- A window has its entries and the marker. The marker is the member "" with a score below all
-- entries. The score is "-inf" if the window is the whole list, and another number if the list
-- continues below it. The marker is in the set, so that neither gets lost alone. A set without a
-- marker is not a window.
--
-- All entries that tie with the cursor are returned, and the caller selects: Lua compares strings by
-- the locale of the server, sorted sets compare them by bytes.
--
-- Both keys share the hash tag {<k>}: one slot. O(log N + entries returned). A lease always has a
-- TTL.
local mark = redis.pcall('ZSCORE', KEYS[1], '')
if type(mark) == 'string' then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
  local ties = redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[1])
  local page = redis.call('ZRANGE', KEYS[1], ARGV[1], '-9007199254740991', 'BYSCORE', 'REV',
    'LIMIT', 0, ties + ARGV[2], 'WITHSCORES')
  table.insert(page, 1, mark)
  return page
end
if ARGV[5] == '' then
  return -1
end
local holder = redis.call('GET', KEYS[2])
if not holder then
  redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6])
  return 0
end
if holder == ARGV[5] then
  return 0
end
return math.max(redis.call('PTTL', KEYS[2]), 1)
