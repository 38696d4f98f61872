-- order: read an order that a buyer received.
--
-- $1  order number
--
-- returns  voucher, status
SELECT voucher_id, status FROM orders WHERE id = $1
