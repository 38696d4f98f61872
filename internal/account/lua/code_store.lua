-- code_store: store a new login code for a phone, in place of the one before.
--
-- KEYS[1]  code:{P}   hash: code, tries
-- ARGV[1]  the code
-- ARGV[2]  life of the code, milliseconds
--
-- returns  0
--
-- One key. O(1).
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'code', ARGV[1], 'tries', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0
