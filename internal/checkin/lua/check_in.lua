-- check_in: a user checked in on a day: add the day to the bitmap of the month. Without
-- its mark the bitmap still counts as missing.
--
-- KEYS[1]  checkin:{U}:YYYYMM   bitmap: bit 0 is the mark "whole", bits 1 to 31 are days
-- ARGV[1]  day, 1 to 31
-- ARGV[2]  life of the bitmap from now on, milliseconds
--
-- returns  1 the day was there   0 it is new
--
-- One key. O(1). It may be repeated, and late: bits are only ever added.
local was = redis.call('SETBIT', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return was
