-- mark_rolled_up: remove days from the set of days to roll up, unless a flush changed them since
-- they were read. The check and the removal are atomic, so no flush is lost.
--
-- KEYS[1]  visit:dirty   sorted set: SHOP:DAY by the microsecond of its last flush
-- ARGV     alternately a member and its score as read
--
-- returns  the number of removed members
--
-- One key. O(n log m) for n members; the caller passes at most 100.
local removed = 0
for i = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    removed = removed + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return removed
