-- fill: add the days of rows to the bitmaps of one user and mark the bitmaps as whole. It
-- only adds bits. So a slow reader removes no concurrent day, and the script may be
-- repeated.
--
-- KEYS[i]      checkin:{U}:YYYYMM   bitmap: bit 0 is the mark "whole", bits 1 to 31 are days
-- KEYS[1]      the first of them; at most 13
-- ARGV[1]      minimum lifetime of a bitmap with days, milliseconds
-- ARGV[2]      minimum lifetime of an empty bitmap, milliseconds
-- ARGV[2 + i]  days of KEYS[i]: the sum of 2^d for each day d
--
-- returns  the number of bitmaps
--
-- All keys share the hash tag {U}: one slot. Up to 34 commands of O(1) for each key.
for i, key in ipairs(KEYS) do
  local days = tonumber(ARGV[2 + i])
  local life = days > 0 and ARGV[1] or ARGV[2]
  for day = 1, 31 do
    if math.floor(days / 2 ^ day) % 2 == 1 then
      redis.call('SETBIT', key, day, 1)
    end
  end
  redis.call('SETBIT', key, 0, 1)
  if redis.call('PTTL', key) < tonumber(life) then
    redis.call('PEXPIRE', key, life)
  end
end
return #KEYS
