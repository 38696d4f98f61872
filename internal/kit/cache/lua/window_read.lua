-- window_read: read one page of a window, newest first; where there is no
-- window, take the right to load it if a token is given.
--
-- KEYS[1]  <prefix>:<name>:{<k>}    sorted set, the window (see below)
-- KEYS[2]  <prefix>:<name>:{<k>}:l  string, the lease: token of one load
-- ARGV[1]  score at which the page begins: the cursor's, or "+inf"
-- ARGV[2]  entries wanted beyond those whose score is ARGV[1], at least 1
-- ARGV[3]  life to give the window, milliseconds, at least 1,
-- ARGV[4]  when it has less than this many left
-- ARGV[5]  token of this load, or "" only to look
-- ARGV[6]  life of the lease, milliseconds, at least 1; unused without a token
--
-- returns  {mark, member, score, member, score, …}  the page
--          0      granted, the caller loads (also when the same token asks again)
--          n > 0  busy: another load holds the lease for n more milliseconds
--          -1     there is no window; only without a token
--
-- A window holds its entries and the marker: the member "", with a score below
-- all entries, which is "-inf" if the window holds the whole list, and another
-- number if the list goes on below the window's oldest entry. The marker is in
-- the set, not in a key of its own, so that nothing can lose one of the two
-- alone. Whatever has no marker is no window.
--
-- Entries that tie with the cursor are all returned, for the caller to choose:
-- Lua compares strings by the server's locale, sorted sets compare them by bytes.
--
-- Both keys share the hash tag {<k>}: one slot. O(log N + entries returned).
-- A lease never exists without a life.
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
