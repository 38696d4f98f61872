-- order: what became of an order that a buyer was told of.
--
-- $1  its number
--
-- returns  voucher, status
SELECT voucher_id, status FROM orders WHERE id = $1
