-- check_in: add a day to the bitmap of a month. A bitmap without the mark still counts as
-- missing.
--
-- KEYS[1]  checkin:{U}:YYYYMM   bitmap: bit 0 is the mark "whole", bits 1 to 31 are days
-- ARGV[1]  day, 1 to 31
-- ARGV[2]  lifetime of the bitmap from now, milliseconds
--
-- returns  1 the day exists   0 it is new
--
-- One key. O(1). It may be repeated and late, because bits are only added.
local was = redis.call('SETBIT', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return was
