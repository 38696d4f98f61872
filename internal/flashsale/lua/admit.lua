--  admit: decide atomically whether a user gets a unit of a sale. If so, take it from the
--  stock and queue the order.
--
--  KEYS[1]  marker of the partition: string, its certified incarnation
--  KEYS[2]  meta of the sale: hash
--  KEYS[3]  stock: string, units left
--  KEYS[4]  the user's bucket of buyers: hash, user -> order
--  KEYS[5]  entry of this order: hash
--  KEYS[6]  stream of orders of the partition
--  KEYS[7]  order of the client's key: string; absent without a key
--  ARGV[1]  expected incarnation
--  ARGV[2]  user
--  ARGV[3]  order
--  ARGV[4]  voucher
--  ARGV[5]  shop
--  ARGV[6]  price, minor units
--  ARGV[7]  maximum length of the stream
--  ARGV[8]  the client's key, or ''
--  ARGV[9]  TTL of KEYS[5] and KEYS[7], seconds
--
--  returns  { code, order, time in ms, length of the stream }; order and time are strings,
--           '' for none. Codes, in the order of their tests:
--           no_state      a key is missing, or the incarnation is not certified
--           repeated      the client's key made this order before
--           held          the user has this order
--           off_sale, not_started, ended, out_of_stock
--           busy          the stream is full
--           admitted
--  slot     one
--  cost     O(1)
--
--  The test of the buyer precedes the test of the stock: a repeated call finds its own order
--  and is admitted. All times of a sale are by the clock of this server.
local user, order = ARGV[2], ARGV[3]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return { 'no_state', '', '', 0 }
end
local held = redis.call('HGET', KEYS[4], user)
if held == order then
  local at = redis.call('HGET', KEYS[5], 't')
  return { 'admitted', order, at or '', redis.call('XLEN', KEYS[6]) }
end
if KEYS[7] then
  local made = redis.call('GET', KEYS[7])
  if made then
    return { 'repeated', made, '', 0 }
  end
end
if held then
  return { 'held', held, '', 0 }
end
local meta = redis.call('HMGET', KEYS[2], 'begin', 'end', 'on')
local stock = tonumber(redis.call('GET', KEYS[3]) or '')
if not (stock and meta[1] and meta[2] and meta[3]) then
  return { 'no_state', '', '', 0 }
end
if meta[3] ~= '1' then
  return { 'off_sale', '', '', 0 }
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < tonumber(meta[1]) then
  return { 'not_started', '', '', 0 }
end
if now >= tonumber(meta[2]) then
  return { 'ended', '', '', 0 }
end
if stock <= 0 then
  return { 'out_of_stock', '', '', 0 }
end
local backlog = redis.call('XLEN', KEYS[6])
if backlog >= tonumber(ARGV[7]) then
  return { 'busy', '', '', backlog }
end
local at = string.format('%.0f', now)
redis.call('DECR', KEYS[3])
redis.call('HSET', KEYS[4], user, order)
redis.call('HSET', KEYS[5], 'v', ARGV[4], 'u', user, 's', ARGV[5], 'p', ARGV[6], 't', at)
redis.call('EXPIRE', KEYS[5], ARGV[9])
if KEYS[7] then
  redis.call('SET', KEYS[7], order, 'EX', ARGV[9])
end
redis.call('XADD', KEYS[6], '*', 'v', ARGV[4], 'u', user, 'o', order, 's', ARGV[5], 'p', ARGV[6], 't', at, 'k', ARGV[8])
return { 'admitted', order, at, backlog + 1 }
