-- code_store: store a new login code and replace the previous one.
--
-- KEYS[1]  code:{P} or code:{P}:device:D   hash: code, tries, tries of each client
-- ARGV[1]  the code
-- ARGV[2]  lifetime of the code, milliseconds
--
-- returns  0
--
-- One key. O(1).
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'code', ARGV[1], 'tries', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0
