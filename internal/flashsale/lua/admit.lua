-- admit: decide, in one step, whether a user gets a piece of a sale, and if so
-- take it from the stock and queue the order.
--
-- KEYS[1]  the partition's marker: string, the incarnation that was reconciled
-- KEYS[2]  meta of the sale: hash
-- KEYS[3]  its stock: string, pieces left
-- KEYS[4]  the user's bucket of its buyers: hash, user -> order
-- KEYS[5]  entry of this order: hash
-- KEYS[6]  the partition's stream of orders
-- KEYS[7]  what the client's key made: string, an order; absent if it has no key
-- ARGV[1]  the incarnation that the caller expects here
-- ARGV[2]  user
-- ARGV[3]  order
-- ARGV[4]  voucher
-- ARGV[5]  shop
-- ARGV[6]  price, minor units
-- ARGV[7]  most entries of the stream
-- ARGV[8]  the client's key, or ''
-- ARGV[9]  life of what is told about an order, seconds
--
-- returns  { code, order, milliseconds, entries of the stream }, the middle ones
--          as strings, '' for none. Codes, in the order in which they are tested:
--          no_state      something is missing, or was not reconciled
--          repeated      the client's key made this order before
--          held          the user has this order
--          off_sale, not_started, ended, out_of_stock
--          busy          the stream is full
--          admitted
--
-- The buyer is tested before the stock: a call that is sent again finds its own
-- order, and is admitted. The clock of a sale is this server's. All keys share the
-- tag {pN}: one slot. O(1).
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
